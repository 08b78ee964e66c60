import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createTemplate, TestCluster } from './test-cluster';
import { state } from './cluster-state';

const SIGNALS: [NodeJS.Signals, number][] = [
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGTERM', 143],
];

/**
 * Jest's globalSetup for every project that needs a database: one temporary server with a migrated template, whose
 * address is in WAYBILL_TEST_CLUSTER_URL. With WAYBILL_TEST_SERVER_URL (a role that may create databases, a database
 * with `test` in its name) that server is used instead. DKIM keys that are used again are in the folder WAYBILL_TEST_KEYS.
 */
export default async function startCluster(): Promise<void> {
  const shared = state();
  shared.users += 1;
  shared.ready ??= start();
  await shared.ready;
}

async function start(): Promise<void> {
  const keys = mkdtempSync(path.join(os.tmpdir(), 'waybill-test-keys-'));
  process.env.WAYBILL_TEST_KEYS = keys;
  process.once('exit', () => rmSync(keys, { recursive: true, force: true }));
  const url = process.env.WAYBILL_TEST_SERVER_URL ?? (await startThrowAwayCluster());
  await createTemplate(url);
  process.env.WAYBILL_TEST_CLUSTER_URL = url;
}

async function startThrowAwayCluster(): Promise<string> {
  const cluster = await TestCluster.start();
  state().cluster = cluster;
  process.once('exit', () => state().cluster?.destroyNow());
  // Ctrl-C ends Jest without a teardown, and would leave the server, a daemon, running.
  for (const [signal, exitCode] of SIGNALS) process.once(signal, () => process.exit(exitCode));
  return cluster.createAdministrationDatabase();
}
