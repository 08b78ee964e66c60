import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { drain } from './drain.mjs';
import { viewService } from './ledgers/service-view.mjs';
import { evaluate } from './ledgers/result.mjs';
import { formatReport } from './report.mjs';
import { say } from './say.mjs';
import { Scene } from './scene.mjs';

/**
 * Plays a plan through, prints the result and sets the exit code.
 * @param settings `{json, keep}` @param releases builds to start with and to upgrade to, see processes/release.mjs
 */
export async function play(plan, settings, releases) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'waybill-chaos-'));
  // When run as root, the server runs as another user, which needs access to this folder.
  await chmod(folder, 0o711);
  const scene = new Scene(plan, folder, releases);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => scene.stop().finally(() => process.exit(1)));
  let isKept = true;
  try {
    const result = await run(plan, scene);
    isKept = settings.keep || !result.passed;
    process.stdout.write(settings.json ? `${JSON.stringify(result, undefined, 2)}\n` : formatReport(result));
    process.exitCode = result.passed ? 0 : 1;
  } finally {
    await scene.stop();
    if (isKept) say(`the logs are in ${folder}`);
    else await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  // Node 20.20 may wait for ever for the handle of a socket that was reset with writes under way (`CleanupHandles`, all CPU of a
  // core): seen at the end of a whole run. An explicit exit does not wait.
  process.stdout.write('', () => process.exit());
}

async function run(plan, scene) {
  const beganAt = performance.now();
  await scene.start();
  say(`${plan.messages} messages in ${plan.seconds} s, ${plan.faults.length} faults, lease ${plan.leaseSeconds} s`);
  const startedAt = performance.now();
  await Promise.all([scene.client.send(plan.requests, startedAt), scene.faultInjector.run(plan.faults, startedAt)]);
  say('everything is sent; waiting for the rest');
  scene.relax();
  await drain(scene.database, plan);
  say('comparing');
  const service = await viewService(scene);
  const exitCodes = await scene.fleet.stop();
  const seconds = Math.round((performance.now() - beganAt) / 1_000);
  return { ...evaluate({ plan, scene, service, exitCodes }), seconds };
}
