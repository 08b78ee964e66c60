import type { AddressInfo } from 'node:net';
import { createServer } from 'node:https';
import { hostileChain } from '../../../test/factories/hostile-chain';
import { EgressClient } from '../egress/egress-client';
import type { EgressGuard } from '../egress/egress-guard';
import { ClientHandshakes } from './client-handshakes';

const KIB = 1024;
const LIMITS = { atATime: 2, freeBytes: KIB, msPerKib: 20, share: 10, rememberedMs: 60_000, revokingMs: 100 };

const ignore = (): void => undefined;

function scene() {
  const handshakes = new ClientHandshakes(LIMITS);
  const givenUp: number[] = [];
  let count = 0;
  const begin = (holder: string) => {
    const number = (count += 1);
    return handshakes.begin(holder, () => void givenUp.push(number));
  };
  return { handshakes, begin, givenUp };
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
    first.end(KIB);
    first.end(KIB);
    expect(await isHeld(third)).toBe(true);
    const fourth = begin('a');
    expect(await isHeld(fourth)).toBe(false);
    second.end(KIB);
    expect(await isHeld(fourth)).toBe(true);
  });

  it('of a holder whose servers send long chains wait in proportion, and go one by one', async () => {
    const { begin } = scene();
    const [first, second] = [await begin('a'), await begin('a')];
    // Those that wait for a usual place find that it is none for them.
    const later = [begin('a'), begin('a')] as const;
    first.end(2 * KIB);
    second.end(KIB);
    expect(await Promise.all(later.map(isHeld))).toEqual([false, false]);
    expect(await isHeld(begin('b'))).toBe(true);
    const third = await later[0];
    expect(await isHeld(later[1])).toBe(false);
    third.end(0);
    (await later[1]).end(0);
  });

  it('are given up beside one of their holder that cost much', async () => {
    const { begin, givenUp } = scene();
    const [first] = [await begin('a'), await begin('a'), await begin('b')];
    first.end(5 * KIB);
    expect(givenUp).toEqual([]);
    const { begin: again, givenUp: later } = scene();
    const [costly, second, other] = [await again('a'), await again('a'), await again('b')];
    costly.end(6 * KIB);
    expect(later).toEqual([2]);
    second.end(0);
    other.end(6 * KIB);
    expect(later).toEqual([2]);
  });

  it('are given up with their signal', async () => {
    const { handshakes, begin } = scene();
    (await begin('a')).end(1_000 * KIB);
    const [waits, queued] = [new AbortController(), new AbortController()];
    const both = [handshakes.begin('a', ignore, waits.signal), handshakes.begin('a', ignore, queued.signal)];
    await isHeld(Promise.all(both));
    waits.abort();
    queued.abort();
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  it('with a webhook that shows a chain made to cost are charged to whose it is', async () => {
    const server = createServer(hostileChain(20), (_request, response) => response.end());
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
