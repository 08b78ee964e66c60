/** No fault at the very beginning, when nothing is under way, nor at the very end. */
const FIRST = 0.05;
const LAST = 0.92;
const API_KILL_SHARE = 0.3;
/** A process is back a few seconds after a kill; a second kill before would hit nothing. */
const RESTART_SECONDS = 4;
/** A worker is not killed shortly before or during its pause, partition or jump: that fault would not take place. */
const MARGIN_SECONDS = 2;
/** These kills wait for the worst moment: a final dot has arrived, and no reply has been sent. */
const AT_DOT_SHARE = 0.5;
const FIVE_DAYS_MS = 5 * 24 * 60 * 60 * 1_000;
const LINK_TOXICS = ['latency', 'cut', 'rst'];

/**
 * What is done to processes, database and network, in order of time. Each fault has `at` and, when it lasts, `until`, in
 * seconds from the begin of the sending.
 *
 * - `kill`: SIGKILL to `target`, at its next final dot when `atDot`; `restart`: the database, immediate mode
 * - `stop`: SIGSTOP to `target`, beyond its lease; `partition`: no byte between `target` and the database, as long
 * - `clock`: the wall clock of `target` is `offsetMs` ahead
 * - `link`: the connection of `target` to the database suffers `toxic`
 * - `hole`: `domain` takes connections and nothing more
 */
export function makeFaults(random, { counts, seconds, leaseSeconds, workers, apis, destinations }) {
  const windows = makeWindows(random, { counts, seconds, leaseSeconds, workers });
  const faults = [
    ...windows,
    ...makeKills(random, { count: counts.kills, seconds, windows, workers, apis }),
    ...spread(random, counts.restarts, seconds).map((at) => ({ kind: 'restart', at, target: 'database' })),
    ...spread(random, counts.links, seconds).map((at, index) => ({
      kind: 'link',
      at,
      until: at + Math.min(10, leaseSeconds / 3),
      target: random.pick([...workers, ...apis]),
      toxic: LINK_TOXICS[index % LINK_TOXICS.length],
    })),
    ...destinations
      .filter(({ kind }) => kind === 'hole')
      .map(({ domain }) => {
        const at = random.between(FIRST, 0.5) * seconds;
        return { kind: 'hole', at, until: at + seconds * 0.2, target: domain };
      }),
  ];
  return faults.sort((one, other) => one.at - other.at);
}

/** One after the other, each in its own part of the time, so that at most one worker is away because of them. */
function makeWindows(random, { counts, seconds, leaseSeconds, workers }) {
  const beyondLease = leaseSeconds + Math.max(1.5, leaseSeconds / 3);
  const kinds = [
    ...Array.from({ length: counts.stops }, () => ({ kind: 'stop', lasts: beyondLease })),
    ...Array.from({ length: counts.partitions }, () => ({ kind: 'partition', lasts: beyondLease })),
    ...Array.from({ length: counts.clocks }, () => ({ kind: 'clock', lasts: leaseSeconds, offsetMs: FIVE_DAYS_MS })),
  ];
  const part = ((LAST - FIRST) * seconds) / kinds.length;
  return shuffled(random, kinds).map(({ lasts, ...fault }, index) => {
    const begin = FIRST * seconds + index * part;
    const at = random.between(begin, Math.max(begin, begin + part - lasts));
    return { ...fault, at, until: at + lasts, target: random.pick(workers) };
  });
}

function makeKills(random, { count, seconds, windows, workers, apis }) {
  const lastKill = new Map();
  const times = Array.from({ length: count }, () => random.between(FIRST, LAST) * seconds).sort((a, b) => a - b);
  return times.map((at) => {
    const candidates = random.next() < API_KILL_SHARE ? apis : workers;
    const isAway = (target) => windows.some((one) => one.target === target && overlaps(one, at));
    const isBack = (target) => at - (lastKill.get(target) ?? -Infinity) > RESTART_SECONDS;
    const all = [...workers, ...apis].filter((target) => !isAway(target));
    const free = all.filter(isBack);
    const [choice] = [candidates.filter((target) => free.includes(target)), free, all].filter(
      ({ length }) => length > 0,
    );
    const target = random.pick(choice);
    lastKill.set(target, at);
    return { kind: 'kill', at, target, atDot: workers.includes(target) && random.next() < AT_DOT_SHARE };
  });
}

function overlaps(fault, at) {
  return at > fault.at - MARGIN_SECONDS && at < fault.until + MARGIN_SECONDS;
}

/** One time in each of so many equal parts. */
function spread(random, count, seconds) {
  const part = ((LAST - FIRST) * seconds) / count;
  return Array.from({ length: count }, (_, index) => FIRST * seconds + (index + random.next()) * part);
}

function shuffled(random, list) {
  const result = [...list];
  for (let last = result.length - 1; last > 0; last -= 1) {
    const other = random.integer(0, last);
    [result[last], result[other]] = [result[other], result[last]];
  }
  return result;
}
