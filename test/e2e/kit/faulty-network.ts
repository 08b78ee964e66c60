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
