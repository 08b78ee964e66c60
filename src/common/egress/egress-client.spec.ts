import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { DnsServer } from '../../../test/doubles/dns-server';
import { TEST_CERTIFICATE } from '../../../test/doubles/tls-certificate';
import { type ReceiverAnswer, WebhookReceiver } from '../../../test/doubles/webhook-receiver';
import { NodeDnsResolver } from '../dns/node-dns-resolver';
import { EGRESS_LIMITS, EgressClient, type EgressLimits } from './egress-client';
import { type EgressCheck, EgressGuard, PublicEgressGuard } from './egress-guard';

const LOOPBACK = new PublicEgressGuard(new NodeDnsResolver({ servers: ['127.0.0.1:9'] }), { allowLoopback: true });
/** Long enough for loopback, short enough for a test. */
const BRIEF = { totalTimeoutMs: 800, connectTimeoutMs: 700 };

/** Answers what a test says, whatever the URL. */
class FixedGuard extends EgressGuard {
  constructor(private readonly answer: EgressCheck) {
    super();
  }

  override check(): Promise<EgressCheck> {
    return Promise.resolve(this.answer);
  }
}

function post(url: string, limits: Partial<EgressLimits> = {}, guard: EgressGuard = LOOPBACK, signal?: AbortSignal) {
  const client = new EgressClient(guard, { ...EGRESS_LIMITS, ...limits });
  return client.post({ url: new URL(url), headers: { 'x-test': 'yes' }, body: '{"a":"ü"}', ...(signal && { signal }) });
}

async function withReceiver<T>(
  answer: ReceiverAnswer,
  work: (receiver: WebhookReceiver) => Promise<T>,
  options?: { tls: boolean },
): Promise<T> {
  const receiver = await WebhookReceiver.start(answer, options);
  try {
    return await work(receiver);
  } finally {
    await receiver.stop();
  }
}

const failure = (kind: string) => ({ kind: 'failed', failure: expect.objectContaining({ kind }) });

describe('EgressClient', () => {
  it('posts and returns the status', async () => {
    await withReceiver({ status: 503, headers: { 'retry-after': '7' } }, async (receiver) => {
      expect(await post(receiver.url('/a?b=c', 'localhost'))).toEqual({
        kind: 'answered',
        status: 503,
        retryAfter: '7',
        answer: {
          headers: expect.objectContaining({ 'retry-after': '7' }) as object,
          body: Buffer.from('thank you'),
          isCut: false,
        },
      });
      const [request] = receiver.received;
      expect(request).toMatchObject({ path: '/a?b=c', body: '{"a":"ü"}' });
      expect(request?.headers).toMatchObject({
        'x-test': 'yes',
        'accept-encoding': 'identity',
        'content-length': '10',
      });
      expect(request?.headers.host).toBe(`localhost:${receiver.port}`);
    });
  });

  it('does not follow a redirect', async () => {
    await withReceiver({ status: 200 }, async (target) => {
      await withReceiver({ status: 307, headers: { location: target.url() } }, async (receiver) => {
        expect(await post(receiver.url())).toMatchObject({ kind: 'answered', status: 307 });
      });
      expect(target.received).toEqual([]);
    });
  });

  it.each([
    ['does not answer', 'hang'],
    ['drips its head', 'drip-head'],
  ] as const)('gives up a host that %s', async (_what, answer) => {
    await withReceiver(answer, async (receiver) => {
      expect(await post(receiver.url(), BRIEF)).toEqual(failure('timeout'));
    });
  });

  it('takes the status of a host that drips its body, and ends it', async () => {
    await withReceiver('drip', async (receiver) => {
      expect(await post(receiver.url(), BRIEF)).toMatchObject({ kind: 'answered', status: 200 });
    });
  });

  it.each([
    ['ünd mehr', { body: Buffer.from('ünd mehr'), isCut: false }],
    ['x'.repeat(10), { body: Buffer.from('x'.repeat(10)), isCut: false }],
    ['y'.repeat(5_000), { body: Buffer.from('y'.repeat(10)), isCut: true }],
  ])('hands on the beginning of what was answered: %#', async (body, answer) => {
    await withReceiver({ status: 500, body, headers: { server: 'x' } }, async (receiver) => {
      expect(await post(receiver.url(), { keptResponseBytes: 10 })).toMatchObject({
        answer: { ...answer, headers: { server: 'x' } },
      });
    });
  });

  it('reads no more than the limit', async () => {
    await withReceiver('flood', async (receiver) => {
      // The body has no end, and the time limit is beyond that of the test.
      expect(await post(receiver.url(), { totalTimeoutMs: 3_600_000 })).toMatchObject({
        kind: 'answered',
        status: 200,
      });
    });
  });

  it.each([
    ['changes to another protocol', 'upgrade'],
    ['sends interim answers without end', 'interim-flood'],
    ['sends empty lines without end', 'line-flood'],
  ] as const)('ends at once with a host that %s', async (_what, answer) => {
    await withReceiver(answer, async (receiver) => {
      // The time limit is beyond that of the test.
      expect(await post(receiver.url(), { totalTimeoutMs: 3_600_000 })).toEqual(failure('protocol'));
    });
  });

  it('takes the answer behind some interim ones', async () => {
    const server = createServer((socket) => {
      const interim = 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(3);
      socket.once('data', () => socket.end(`${interim}HTTP/1.1 204 No Content\r\n\r\n`));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ kind: 'answered', status: 204 });
    server.close();
  });

  it.each([
    ['closes the connection', 'reset', 'connection'],
    ['does not speak HTTP', 'garbage', 'protocol'],
  ] as const)('tells when the host %s', async (_what, answer, kind) => {
    await withReceiver(answer, async (receiver) => expect(await post(receiver.url())).toEqual(failure(kind)));
  });

  it('reports a port without a listener', async () => {
    const url = await withReceiver({ status: 200 }, (receiver) => Promise.resolve(receiver.url()));
    const reason = 'the connection was refused';
    expect(await post(url)).toEqual({ kind: 'failed', failure: { kind: 'connection', reason } });
  });

  it('gives up a connection that does not come about', async () => {
    // A listener that accepts and says nothing never finishes the TLS handshake.
    await withReceiver('hang', async (receiver) => {
      const url = receiver.url().replace('http:', 'https:');
      expect((await post(url, BRIEF)).kind).toBe('failed');
    });
  });

  it('is ended from outside', async () => {
    await withReceiver('hang', async (receiver) => {
      const ending = new AbortController();
      receiver.answer = () => {
        ending.abort();
        return 'hang';
      };
      expect(await post(receiver.url(), {}, LOOPBACK, ending.signal)).toEqual(failure('stopped'));
      expect(await post(receiver.url(), {}, LOOPBACK, ending.signal)).toEqual(failure('stopped'));
      expect(receiver.received).toHaveLength(1);
    });
  });

  describe('over TLS', () => {
    const tls = { tls: true };

    it('trusts known authorities, for the name of the URL', async () => {
      const limits = { authorities: TEST_CERTIFICATE.cert };
      await withReceiver(
        { status: 204 },
        async (receiver) => {
          expect(await post(receiver.url('/', 'localhost'), limits)).toMatchObject({ kind: 'answered', status: 204 });
          const guard = new FixedGuard({ kind: 'allowed', addresses: ['127.0.0.1'] });
          const other = await post(receiver.url('/', 'other.example'), limits, guard);
          expect(other).toEqual(failure('tls'));
          expect(receiver.received).toHaveLength(1);
        },
        tls,
      );
    });

    it('trusts no other authority', async () => {
      await withReceiver(
        { status: 200 },
        async (receiver) => {
          expect(await post(receiver.url())).toEqual(failure('tls'));
          expect(receiver.received).toEqual([]);
        },
        tls,
      );
    });
  });

  describe('with a name', () => {
    it('connects to what was checked, whatever the name says afterwards', async () => {
      await withReceiver({ status: 200 }, async (receiver) => {
        const dns = await DnsServer.start({ 'hook.example': { A: ['127.0.0.1'], ttlSeconds: 0 } });
        const resolver = new NodeDnsResolver({ servers: [dns.endpoint] });
        const guard = new PublicEgressGuard(resolver, { allowLoopback: true });
        const rebinding = new (class extends EgressGuard {
          override async check(url: URL): Promise<EgressCheck> {
            const checked = await guard.check(url);
            dns.set({ 'hook.example': { A: ['127.0.0.99'], ttlSeconds: 0 } });
            return checked;
          }
        })();
        expect(await post(receiver.url('/', 'hook.example'), {}, rebinding)).toMatchObject({ status: 200 });
        expect(dns.queries.filter((query) => query === 'A hook.example')).toHaveLength(1);
        await dns.stop();
      });
    });

    it('tries eight addresses, and no hundreds', async () => {
      const server = createServer((socket) => {
        socket.once('data', () => socket.end('HTTP/1.1 204 No Content\r\n\r\n'));
      });
      server.listen(0, '127.0.0.9');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const behind = (refusing: number) => {
        const others = Array.from({ length: refusing }, (_value, index) => `127.0.1.${index}`);
        return new FixedGuard({ kind: 'allowed', addresses: [...others, '127.0.0.9'] });
      };
      const url = `http://hook.example:${port}/`;
      expect(await post(url, {}, behind(7))).toMatchObject({ kind: 'answered', status: 204 });
      expect(await post(url, {}, behind(8))).toEqual(failure('connection'));
      server.close();
    });

    it('looks again each time, and refuses a name that has turned private', async () => {
      await withReceiver({ status: 200 }, async (receiver) => {
        const dns = await DnsServer.start({ 'hook.example': { A: ['192.0.43.8'], ttlSeconds: 0 } });
        const resolver = new NodeDnsResolver({ servers: [dns.endpoint] });
        const guard = new PublicEgressGuard(resolver, { allowLoopback: false });
        const url = receiver.url('/', 'hook.example');
        expect((await guard.check(new URL(url))).kind).toBe('allowed');
        dns.set({ 'hook.example': { A: ['127.0.0.1'], ttlSeconds: 0 } });
        expect(await post(url, {}, guard)).toEqual(failure('refused'));
        expect(receiver.received).toEqual([]);
        await dns.stop();
      });
    });

    it('does not wait for a silent DNS server beyond the limit', async () => {
      const dns = await DnsServer.start({ 'hook.example': 'silent' });
      const guard = new PublicEgressGuard(new NodeDnsResolver({ servers: [dns.endpoint] }), { allowLoopback: true });
      expect(await post('https://hook.example/', BRIEF, guard)).toEqual(failure('timeout'));
      await dns.stop();
    });
  });
});
