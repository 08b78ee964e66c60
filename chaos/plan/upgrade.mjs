/** Shares of the run. Between a step and the next one a process drains for up to 20 s. */
const MIGRATION = 0.08;
const FIRST_HALF = 0.14;
const KILLS = 0.42;
const ROLLBACK = 0.5;
const ALL = 0.72;
/** Between two processes. */
const STEP = 0.04;

/**
 * A rolling upgrade as a list of faults: the schema becomes the new release's under the old processes; one process of each role
 * is of the new release while the others are not; a worker of each release is killed, so that the other one takes over what it held;
 * that half is rolled back, on the new schema; in the end all are new.
 *
 * - `migrate`: `waybill migrate` of the new release
 * - `release`: `target` ends in good order, and comes back as the release `to`
 */
export function makeUpgrade({ seconds, apis, workers }) {
  const [api, worker] = [apis[0], workers[0]];
  const kill = (target, at) => ({ kind: 'kill', at, target, atDot: true });
  const release = (to, from, targets) =>
    targets.map((target, index) => ({ kind: 'release', at: from + index * STEP, target, to }));
  return [
    { kind: 'migrate', at: MIGRATION, target: 'schema' },
    ...release('new', FIRST_HALF, [api, worker]),
    kill(workers[1], KILLS),
    kill(worker, KILLS + STEP),
    ...release('old', ROLLBACK, [api, worker]),
    ...release('new', ALL, [...apis, ...workers]),
  ].map((fault) => ({ ...fault, at: fault.at * seconds }));
}
