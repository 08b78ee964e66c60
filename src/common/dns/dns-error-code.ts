/**
 * The code of a rejected look-up, such as `ESERVFAIL`; `unknown` for anything else. By shape, as errors of `node:dns`
 * are made in a realm of their own where tests run in another.
 */
export function dnsErrorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return 'unknown';
  return typeof error.code === 'string' ? error.code : 'unknown';
}
