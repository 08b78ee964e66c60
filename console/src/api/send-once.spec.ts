import { sendOnce } from './send-once';

const MAIL = { to: ['ada@example.com'], subject: 'Once' };

describe('sending an email once', () => {
  const keys: (string | null)[] = [];
  /** What the service does with the next requests, one after another; undefined: the response is lost. */
  const answers: (number | undefined)[] = [];
  beforeEach(() => {
    keys.length = 0;
    jest.spyOn(globalThis, 'fetch').mockImplementation((_url, init) => {
      keys.push(new Headers(init?.headers).get('x-idempotency-key'));
      const status = answers.shift();
      if (status === undefined) return Promise.reject(new TypeError('Failed to fetch'));
      const body = status < 300 ? { data: { id: '1' } } : { error: { code: 'refused' } };
      return Promise.resolve(Response.json(body, { status }));
    });
  });

  const send = (...results: (number | undefined)[]) => {
    answers.push(...results);
    return results.reduce<Promise<unknown>>(
      (before) => before.then(() => sendOnce('/v1/emails', MAIL).catch(() => undefined)),
      Promise.resolve(),
    );
  };

  it('keeps its key until the service has decided, whichever dialog sends it', async () => {
    await send(undefined, 503, 202, 202);
    expect(keys[0]).toEqual(expect.any(String));
    expect(keys.slice(0, 3)).toEqual([keys[0], keys[0], keys[0]]);
    expect(keys[3]).not.toBe(keys[0]);
  });

  it('takes another one after a refusal', async () => {
    await send(400, 202);
    expect(keys[1]).not.toBe(keys[0]);
  });

  it('has one for each content', async () => {
    await send(undefined);
    answers.push(202);
    await sendOnce('/v1/emails', { ...MAIL, subject: 'Other' });
    expect(keys[1]).not.toBe(keys[0]);
    await send(202);
    expect(keys[2]).toBe(keys[0]);
  });
});
