import type { AddressInfo } from 'node:net';
import { createServer } from 'node:https';
import { hostileChain } from '../../../test/factories/hostile-chain';
import { EgressClient } from '../egress/egress-client';
import type { EgressGuard } from '../egress/egress-guard';
import { ClientHandshakes } from './client-handshakes';

const LIMITS = { atATime: 2, freeMs: 10, revokingMs: 50, oneByOne: 2, share: 1_000 };
const [CHEAP, COSTLY] = [2, 60];

function scene(limits = LIMITS) {
  const handshakes = new ClientHandshakes(limits);
  const givenUp: number[] = [];
  let count = 0;
  const begin = (holder: string, signal?: AbortSignal) => {
    const number = (count += 1);
    const giveUp = () => void givenUp.push(number);
    return handshakes.begin({ holder, giveUp, ...(signal && { signal }) });
  };
  return { begin, givenUp };
}

/** Whether it has its place by the next turn of the event loop. */
async function isHeld(begun: Promise<unknown>): Promise<boolean> {
  const next = new Promise<false>((resolve) => setImmediate(() => resolve(false)));
  return Promise.race([begun.then(() => true), next]);
}

describe('TLS handshakes of a client', () => {
  it('are few of one holder at a time, and others begin', async () => {
    const { begin } = scene();
    const [first, second] = [await begin('a'), await begin('a')];
    const third = begin('a');
    expect(await isHeld(third)).toBe(false);
    expect(await isHeld(begin('b'))).toBe(true);
    first.end(CHEAP);
    first.end(CHEAP);
    expect(await isHeld(third)).toBe(true);
    const fourth = begin('a');
    expect(await isHeld(fourth)).toBe(false);
    second.end(CHEAP);
    expect(await isHeld(fourth)).toBe(true);
  });

  it('of a holder whose servers cost wait in proportion', async () => {
    const { begin } = scene();
    (await begin('a')).end(10);
    expect(await isHeld(begin('a'))).toBe(true);
    (await begin('b')).end(11);
    expect(await isHeld(begin('b'))).toBe(false);
    expect(await isHeld(begin('c'))).toBe(true);
  });

  it('are given up beside one of their holder that took long', async () => {
    const { begin, givenUp } = scene();
    const [costly, second] = [await begin('a'), await begin('a'), await begin('b')];
    // It has waited for a usual place, and finds that it is none for it.
    const later = begin('a');
    costly.end(50);
    expect(givenUp).toEqual([2]);
    second.end(0);
    expect(await isHeld(later)).toBe(false);
    expect(givenUp).toEqual([2]);
    const [less, beside] = [await begin('c'), await begin('c')];
    less.end(49);
    expect(givenUp).toEqual([2]);
    beside.end(CHEAP);
  });

  it('go one by one after it, until some have cost little', async () => {
    const { begin } = scene({ ...LIMITS, share: 0 });
    const [costly, givenUp] = [await begin('a'), await begin('a')];
    costly.end(COSTLY);
    givenUp.end(0);
    for (let cheap = 0; cheap < LIMITS.oneByOne; cheap += 1) {
      const own = await begin('a');
      const next = begin('a');
      expect(await isHeld(next)).toBe(false);
      own.end(CHEAP);
      if (cheap === 0) (await next).end(COSTLY);
      else (await next).end(CHEAP);
    }
    (await begin('a')).end(CHEAP);
    expect([await isHeld(begin('a')), await isHeld(begin('a'))]).toEqual([true, true]);
  });

  it('are given up with their signal', async () => {
    const { begin } = scene();
    (await begin('a')).end(1_000);
    const [waits, queued] = [new AbortController(), new AbortController()];
    const both = [begin('a', waits.signal), begin('a', queued.signal)];
    await isHeld(Promise.all(both));
    waits.abort();
    queued.abort();
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  it('that are given up while they wait for their time return their places', async () => {
    const { begin } = scene({ ...LIMITS, share: 10 });
    (await begin('a')).end(11);
    const waits = new AbortController();
    const all = Array.from({ length: LIMITS.atATime }, () => begin('a', waits.signal));
    await isHeld(Promise.all(all));
    waits.abort();
    await Promise.allSettled(all);
    (await begin('a')).end(CHEAP);
  });

  it('with a webhook that shows a chain made to cost are charged to whose it is', async () => {
    const server = createServer(hostileChain(15), (_request, response) => response.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const guard = { check: () => Promise.resolve({ kind: 'allowed', addresses: ['127.0.0.1'] }) };
    const client = new EgressClient(guard as unknown as EgressGuard);
    const url = new URL(`https://hostile.example:${(server.address() as AddressInfo).port}/`);
    const ended: string[] = [];
    const post = async (holder: string): Promise<void> => {
      const result = await client.post({ url, headers: {}, body: '', holder });
      expect(result).toMatchObject({ kind: 'failed', failure: { kind: 'tls' } });
      ended.push(holder);
    };
    await post('costly');
    await Promise.all([post('costly'), post('other')]);
    expect(ended).toEqual(['costly', 'other', 'costly']);
    await new Promise((resolve) => server.close(resolve));
  });

  it('return their places where nothing can be sent', async () => {
    const guard = { check: () => Promise.resolve({ kind: 'allowed', addresses: ['127.0.0.1'] }) };
    const client = new EgressClient(guard as unknown as EgressGuard);
    const url = new URL('https://unsent.example:1/');
    // One more than there are places; the next would wait for ever.
    for (let count = 0; count < 65; count += 1) {
      const result = await client.post({ url, headers: { 'x-odd': 'a\nb' }, body: '', holder: 'unsent' });
      expect(result.kind).toBe('failed');
    }
    const next = await client.post({ url, headers: {}, body: '', holder: 'unsent' });
    expect(next).toMatchObject({ kind: 'failed', failure: { reason: 'the connection was refused' } });
  });
});
