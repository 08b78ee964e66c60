/** Shares of the run. Between a step and the next one a process drains for up to 20 s; `step` lies between two processes. */
const SHARES = { migration: 0.08, firstHalf: 0.14, kills: 0.42, rollback: 0.5, all: 0.72, step: 0.04 };
/** With the way back for all of them at the end. */
const SHARES_AND_BACK = {
  migration: 0.05,
  firstHalf: 0.09,
  kills: 0.25,
  rollback: 0.3,
  all: 0.42,
  back: 0.72,
  step: 0.025,
};

/**
 * A rolling upgrade as a list of faults: the schema becomes the new release's under the old processes; one process of each role
 * is of the new release while the others are not; a worker of each release is killed, so that the other one takes over what it held;
 * that half is rolled back, on the new schema; then all are new, and in the end, with `back`, all of the old one again.
 *
 * - `migrate`: `waybill migrate` of the new release
 * - `release`: `target` ends in good order, and comes back as the release `to`
 */
export function makeUpgrade({ seconds, apis, workers, back = false }) {
  const shares = back ? SHARES_AND_BACK : SHARES;
  const [api, worker] = [apis[0], workers[0]];
  const kill = (target, at) => ({ kind: 'kill', at, target, atDot: true });
  const release = (to, from, targets) =>
    targets.map((target, index) => ({ kind: 'release', at: from + index * shares.step, target, to }));
  return [
    { kind: 'migrate', at: shares.migration, target: 'schema' },
    ...release('new', shares.firstHalf, [api, worker]),
    kill(workers[1], shares.kills),
    kill(worker, shares.kills + shares.step),
    ...release('old', shares.rollback, [api, worker]),
    ...release('new', shares.all, [...apis, ...workers]),
    ...(back ? release('old', shares.back, [...workers, ...apis]) : []),
  ].map((fault) => ({ ...fault, at: fault.at * seconds }));
}
