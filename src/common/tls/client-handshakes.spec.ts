import type { AddressInfo } from 'node:net';
import { createServer } from 'node:https';
import { hostileChain } from '../../../test/factories/hostile-chain';
import { EgressClient } from '../egress/egress-client';
import type { EgressGuard } from '../egress/egress-guard';
import { ClientHandshakes } from './client-handshakes';

const KIB = 1024;
const LIMITS = {
  ...{ atATime: 2, freeMs: 10, revokingMs: 50, oneByOne: 2, share: 1_000, sample: 8 },
  ...{ knownMs: 60_000, freeBytes: 4 * KIB, msPerKib: 10 },
};
const CHEAP = { bytes: 3 * KIB, ms: 2 };
const COSTLY = { bytes: 3 * KIB, ms: 60 };
const UNMEASURED = { bytes: 3 * KIB, ms: undefined };

function scene(random = () => 0.5) {
  const handshakes = new ClientHandshakes(LIMITS, random);
  const givenUp: number[] = [];
  let count = 0;
  const begin = (holder: string, server?: string, signal?: AbortSignal) => {
    const number = (count += 1);
    const giveUp = () => void givenUp.push(number);
    return handshakes.begin({ holder, giveUp, ...(server && { server }), ...(signal && { signal }) });
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

  it('are measured until the server is known to cost little, and then a sample of them', async () => {
    let sampled = 0.5;
    const { begin } = scene(() => sampled);
    const first = await begin('a', 'mx');
    expect([first.isMeasured, (await begin('b', 'mx')).isMeasured]).toEqual([true, true]);
    // One that fails says nothing of the next.
    first.end(CHEAP);
    const second = await begin('a', 'mx');
    expect(second.isMeasured).toBe(true);
    second.end(CHEAP, true);
    const third = await begin('a', 'mx');
    expect(third.isMeasured).toBe(false);
    third.end(UNMEASURED, true);
    sampled = 0.1;
    expect((await begin('c', 'mx')).isMeasured).toBe(true);
    sampled = 0.2;
    expect((await begin('c', 'mx')).isMeasured).toBe(false);
    expect((await begin('d', 'other')).isMeasured).toBe(true);
    expect((await begin('d')).isMeasured).toBe(true);
  });

  it('of a holder whose servers cost wait in proportion', async () => {
    const { begin } = scene();
    (await begin('a', 'mx')).end({ ...CHEAP, ms: 10 });
    expect(await isHeld(begin('a', 'mx'))).toBe(true);
    (await begin('b', 'mx')).end({ ...CHEAP, ms: 11 });
    expect(await isHeld(begin('b', 'mx'))).toBe(false);
    expect(await isHeld(begin('c', 'mx'))).toBe(true);
  });

  it('with a server that sends more than when it was measured are charged by its bytes, and the next is measured', async () => {
    const { begin } = scene();
    (await begin('a', 'mx')).end({ bytes: 6 * KIB, ms: 2 }, true);
    (await begin('a', 'mx')).end({ bytes: 6 * KIB, ms: undefined }, true);
    (await begin('a', 'mx')).end({ bytes: 5 * KIB, ms: undefined }, true);
    const last = await begin('a', 'mx');
    expect(last.isMeasured).toBe(false);
    last.end({ bytes: 7 * KIB, ms: undefined }, true);
    expect(await isHeld(begin('a', 'mx'))).toBe(false);
    expect((await begin('b', 'mx')).isMeasured).toBe(true);
  });

  it('are given up beside one of their holder that took long, and go one by one until some have cost little', async () => {
    const { begin, givenUp } = scene();
    (await begin('a', 'mx')).end({ ...COSTLY, ms: 0 }, true);
    const [costly, second] = [await begin('a', 'mx'), await begin('a', 'mx'), await begin('b', 'mx')];
    // Those that wait for a usual place find that it is none for them.
    const later = begin('a', 'mx');
    costly.end({ ...COSTLY, ms: 50 });
    expect(givenUp).toEqual([3]);
    second.end({ bytes: 0, ms: undefined });
    expect(await isHeld(later)).toBe(false);
    expect(givenUp).toEqual([3]);
  });

  it('go one by one until some have cost little', async () => {
    const handshakes = new ClientHandshakes({ ...LIMITS, share: 0 });
    const begin = () => handshakes.begin({ holder: 'a', server: 'mx', giveUp: () => undefined });
    (await begin()).end(COSTLY);
    for (let cheap = 0; cheap < LIMITS.oneByOne; cheap += 1) {
      const own = await begin();
      const next = begin();
      expect([own.isMeasured, await isHeld(next)]).toEqual([true, false]);
      own.end(CHEAP, true);
      (await next).end(UNMEASURED);
    }
    expect([await isHeld(begin()), await isHeld(begin())]).toEqual([true, true]);
  });

  it('that stand for others in a sample are charged for these', async () => {
    const handshakes = new ClientHandshakes({ ...LIMITS, share: 0.01 }, () => 0);
    const begin = () => handshakes.begin({ holder: 'a', server: 'mx', giveUp: () => undefined });
    (await begin()).end(CHEAP, true);
    const startedMs = performance.now();
    (await begin()).end({ ...CHEAP, ms: 49 });
    (await begin()).end(CHEAP);
    // Without the weight it would be 0.49 ms.
    expect(performance.now() - startedMs).toBeGreaterThan(2);
  });

  it('are given up with their signal', async () => {
    const { begin } = scene();
    (await begin('a')).end({ ...COSTLY, ms: 1_000 });
    const [waits, queued] = [new AbortController(), new AbortController()];
    const both = [begin('a', 'mx', waits.signal), begin('a', 'mx', queued.signal)];
    await isHeld(Promise.all(both));
    waits.abort();
    queued.abort();
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
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
