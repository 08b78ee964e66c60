import { state } from './cluster-state';

/** Jest's globalTeardown: the last project that shares the server stops it. */
export default async function stopCluster(): Promise<void> {
  const shared = state();
  shared.users -= 1;
  const { cluster } = shared;
  if (shared.users > 0 || !cluster) return;
  shared.cluster = undefined;
  await cluster.stop();
}
