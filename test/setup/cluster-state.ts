import type { TestCluster } from './test-cluster';

interface ClusterState {
  /** Set-ups without their teardown so far. */
  users: number;
  ready?: Promise<void>;
  cluster?: TestCluster | undefined;
}

const KEY = Symbol.for('waybill.test-cluster');

/** Shared by set-up and teardown, which Jest loads separately. */
export function state(): ClusterState {
  const holder = globalThis as { [KEY]?: ClusterState };
  return (holder[KEY] ??= { users: 0 });
}
