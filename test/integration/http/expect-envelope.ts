import type { RawResponse } from './raw-client';

interface ErrorBody {
  code: string;
  message: string;
  details?: { validation?: Record<string, string[]>; allowed?: string[] };
}

/** Checks what every error response has in common, and returns its error. */
export function expectEnvelope(response: RawResponse, status: number, code: string): ErrorBody {
  expect({ status: response.status, body: response.body }).toEqual({
    status,
    body: expect.stringMatching(/^\{"error":/),
  });
  const { error } = JSON.parse(response.body) as { error: ErrorBody };
  expect(error).toMatchObject({ code, message: expect.any(String) });
  expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
  expectStandardHeaders(response);
  return error;
}

/** Checks what every response has in common. */
export function expectStandardHeaders({ headers }: RawResponse): void {
  expect(headers).toMatchObject({
    'x-request-id': expect.stringMatching(/^[A-Za-z0-9._-]{1,128}$/),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    date: expect.any(String),
  });
  expect(headers).not.toHaveProperty('server');
  expect(headers).not.toHaveProperty('x-powered-by');
}
