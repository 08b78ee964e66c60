import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ, which Linux fixes at 100 for all values that user space reads. */
const TICKS_PER_SECOND = 100;

/** CPU seconds a process has used so far, its threads included; NaN where there is no /proc. */
export function cpuSecondsOf(pid) {
  const usage = readStat(pid);
  return usage ? usage.own / TICKS_PER_SECOND : NaN;
}

/** The same for a process and its children, ended ones included: a Postgres with its backends. */
export function cpuSecondsOfTree(pid) {
  const root = readStat(pid);
  if (!root) return NaN;
  const children = processIds()
    .flatMap((child) => readStat(child) ?? [])
    .filter((stat) => stat.parent === pid);
  const ticks = children.reduce((sum, child) => sum + child.own, root.own + root.reaped);
  return ticks / TICKS_PER_SECOND;
}

/** A process's peak resident memory in MB; NaN where there is no /proc. */
export function peakMemoryOf(pid) {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  } catch {
    return NaN;
  }
}

/** Memory of a process and its children, in MB: pages that some of them share count once (PSS). */
export function memoryOfTree(pid) {
  const pids = processIds().filter((child) => child === String(pid) || readStat(child)?.parent === pid);
  return pids.reduce((sum, one) => sum + memoryOf(one), 0);
}

function memoryOf(pid) {
  try {
    return Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) / 1024;
  } catch {
    // It has ended since.
    return 0;
  }
}

function processIds() {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
}

/** proc(5): the name in parentheses may hold spaces; after it come state, parent, …; times are the 14th to the 17th field. */
function readStat(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const number = (field) => Number(fields[field - 3]);
    return { parent: number(4), own: number(14) + number(15), reaped: number(16) + number(17) };
  } catch {
    return undefined;
  }
}
