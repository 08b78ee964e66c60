/** What comes before `/v1`. @throws TypeError */
export function baseOf(baseUrl: string): string {
  const base = String(baseUrl).trim();
  if (!/^(https?:\/\/|\/)/i.test(base)) throw new TypeError('baseUrl must begin with http:// or https://');
  return base.replace(/\/+$/, '').replace(/\/v1$/, '');
}

/**
 * The key without the line end of a file. Refuses what no header can hold: the error of `fetch` would name the network as the cause, and
 * show the key. @throws TypeError
 */
export function keyOf(apiKey: string): string {
  if (!apiKey) throw new TypeError('apiKey is missing');
  const key = apiKey.trim();
  if (!/^[!-~]+$/.test(key)) throw new TypeError('apiKey must be one line of ASCII without blanks');
  return key;
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
