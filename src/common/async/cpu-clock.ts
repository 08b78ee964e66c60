/**
 * CPU time of one thread in milliseconds, from its Linux file (`/proc/…/schedstat`: nanoseconds come first). On other systems
 * that of the whole process.
 *
 * Passed to threads as text: it uses nothing outside itself.
 * @param read a file as text; may throw
 */
export function cpuClock(read: (path: string) => string, path: string): () => number {
  let last = Number.NaN;
  const ofThread = (): number => {
    try {
      last = Number(read(path).split(' ')[0]) / 1_000_000;
    } catch {
      // The thread has ended.
    }
    return last;
  };
  const ofProcess = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  };
  return ofThread() >= 0 ? ofThread : ofProcess;
}
