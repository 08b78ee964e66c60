export interface SentRequest {
  readonly url: string;
  readonly init: RequestInit & { readonly headers: Record<string, string> };
}

/** A `fetch` with the given faults, one for each request, which then lets everything through; and the requests it has been given. */
export function faultyNetwork(...faults: (Response | Error)[]) {
  const requests: SentRequest[] = [];
  const faultyFetch = (url: string, init: never): Promise<Response> => {
    requests.push({ url, init });
    const fault = faults.shift();
    if (fault instanceof Error) return Promise.reject(fault);
    return fault ? Promise.resolve(fault) : fetch(url, init);
  };
  return { requests, fetch: faultyFetch };
}

/** An error of the service. */
export function refusal(status: number, code: string, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify({ error: { code, message: 'No' } }), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  });
}

/** What a client makes of responses that are not the service's. @param through a client behind a network with the given faults */
export async function proxyStory(
  through: (...faults: Response[]) => { client: any; requests: unknown[] },
): Promise<void> {
  const page = (status: number, type: string, headers = {}) =>
    new Response(status === 504 ? '' : '<h1>Sign in</h1>', { status, headers: { 'content-type': type, ...headers } });
  const signIn = through(page(200, 'text/html'));
  await expect(
    signIn.client.emails.send({ to: ['ada@customer.example'], subject: 'x', text: 'x' }, { maxRetries: 0 }),
  ).rejects.toMatchObject({
    ...{ name: 'ConnectionError', message: expect.stringContaining('no JSON') },
  });
  const file = through(page(200, 'text/html; charset=utf-8'));
  await expect(file.client.privacy.readExportZip('x', {}, { maxRetries: 0 })).rejects.toMatchObject({
    name: 'ConnectionError',
  });
  const unkeyed = through(page(200, 'text/html'));
  const entry = { email: 'proxy@clear.example', reason: 'manual' };
  await expect(unkeyed.client.suppressions.create(entry)).rejects.toMatchObject({ name: 'ConnectionError' });
  expect(unkeyed.requests).toHaveLength(1);
  const late = through(page(504, 'application/json'));
  await expect(late.client.suppressions.create(entry)).rejects.toMatchObject({
    ...{ name: 'ServerError', status: 504, code: 'service_unavailable' },
  });
  const foreign = through(Response.json({ error: { code: 403, message: 'Blocked' } }, { status: 403 }));
  await expect(foreign.client.emails.list()).rejects.toMatchObject({
    name: 'PermissionError',
    code: 'invalid_request',
  });
  const busy = through(page(429, 'application/json', { 'retry-after': new Date(0).toUTCString() }));
  expect(await busy.client.suppressions.create(entry)).toMatchObject({ email: entry.email });
  expect(busy.requests).toHaveLength(2);
}
