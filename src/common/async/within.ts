/** The result of `work`, or an error that says "timeout" after `timeoutMs`; `work` itself goes on. */
export function within<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`timeout after ${timeoutMs} ms`)), timeoutMs);
    const settled = (): void => clearTimeout(timer);
    work.then(resolve, reject).finally(settled);
  });
}
