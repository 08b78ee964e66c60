/** What comes before `/v1`. @throws TypeError */
export function baseOf(baseUrl: string): string {
  if (!/^(https?:\/\/|\/)/i.test(baseUrl)) throw new TypeError('baseUrl must begin with http:// or https://');
  return baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
}

/** Refuses what no header can hold: the error of `fetch` would name the network as the cause, and show the key. @throws TypeError */
export function requireKey(apiKey: string): void {
  if (!apiKey) throw new TypeError('apiKey is missing');
  if (!/^[!-~]+$/.test(apiKey.trim())) throw new TypeError('apiKey must be one line of ASCII without blanks');
}

/** `.` and `..` lead to another route, however they are encoded. @throws TypeError */
export function requirePath(path: string): string {
  const hasDots = path.split('/').some((segment) => segment === '.' || segment === '..');
  if (hasDots) throw new TypeError('An id must not be "." or ".."');
  return path;
}

/** The key of a call: the given one, or else that of the body, or else a new one. @throws TypeError */
export function idempotencyKeyOf(given: string | undefined, body: unknown): string {
  const key = given ?? keyIn(body) ?? crypto.randomUUID();
  if (!/^[ -~]{1,255}$/.test(key)) throw new TypeError('idempotencyKey must be 1 to 255 printable ASCII characters');
  return key;
}

function keyIn(body: unknown): string | undefined {
  const key = (body as { idempotencyKey?: unknown } | undefined)?.idempotencyKey;
  return typeof key === 'string' ? key : undefined;
}

export function queryString(query: object | undefined): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(
    given.map(([name, value]) => [name, value instanceof Date ? value.toISOString() : String(value)]),
  ).toString();
  return text === '' ? '' : `?${text}`;
}
