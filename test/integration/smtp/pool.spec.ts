import { AppError } from '../../../src/common/errors/app-error';
import { MessageCap } from '../../../src/delivery/smtp/conversation/host-memory';
import type { SmtpResult } from '../../../src/delivery/smtp/conversation/smtp-result';
import { ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import type { SmtpEndpoint } from '../../../src/delivery/smtp/conversation/smtp-endpoint';
import { toSmtpFacts } from '../../../src/delivery/smtp/conversation/smtp-result';
import { TlsSessions } from '../../../src/delivery/smtp/conversation/host-memory';
import { TEST_CERTIFICATE } from '../../doubles/tls-certificate';
import { SmtpSink } from '../../doubles/smtp-sink';
import type { SmtpSinkOptions } from '../../doubles/smtp-sink';
import { waitFor } from '../../setup/wait-for';
import { MINUTE, SystemClock } from '../../../src/common/clock';
import { SmtpPool } from '../../../src/delivery/smtp/pool/smtp-pool';
import { NextHopPools } from '../../../src/delivery/smtp/pool/next-hop-pools';
import { HELO_NAME, SOON, SmtpClients, endpointOf, jobTo } from './smtp-client-kit';

const ACCEPTED = { kind: 'accepted' };
const ABORTED = { kind: 'failed', cause: 'aborted' };

function recipients(count: number, name = 'user'): string[] {
  return Array.from({ length: count }, (_each, index) => `${name}+${index}@example.org`);
}

describe('a pool', () => {
  const clients = new SmtpClients();
  let sink: SmtpSink;
  const start = async (options: SmtpSinkOptions = {}): Promise<void> => void (sink = await SmtpSink.start(options));

  afterEach(async () => {
    clients.destroyAll();
    await sink.stop();
  });

  it('sends one after the other on one connection, in order', async () => {
    await start();
    const pool = clients.pool(endpointOf(sink.port));
    const to = recipients(20);
    const results = await Promise.all(to.map((recipient) => pool.send(jobTo(recipient))));
    expect(results.every((result) => result.kind === 'accepted')).toBe(true);
    expect(sink.messages.map((message) => message.recipients[0])).toEqual(to);
    expect(sink.connectionCount).toBe(1);
    expect(pool).toMatchObject({ openConnections: 1, idleConnections: 1 });
  });

  it('opens no more connections than it may, and uses them all', async () => {
    await start();
    const pool = clients.pool(endpointOf(sink.port), { maxConnections: 3 });
    const sending = recipients(60, '250-late-1').map((recipient) => pool.send(jobTo(recipient)));
    expect(pool).toMatchObject({ openConnections: 3 });
    await Promise.all(sending);
    expect(sink).toMatchObject({ peakConnections: 3, connectionCount: 3, messageCount: 60 });
  });

  it('replaces a connection after its number of messages', async () => {
    await start();
    const pool = clients.pool(endpointOf(sink.port), { maxMessagesPerConnection: 5 });
    await Promise.all(recipients(20).map((recipient) => pool.send(jobTo(recipient))));
    await pool.close();
    expect(sink).toMatchObject({ connectionCount: 4, messageCount: 20 });
    expect(sink.commands.filter((line) => line === 'QUIT')).toHaveLength(4);
  });

  it('takes the connection that fell idle last', async () => {
    await start();
    const pool = clients.pool(endpointOf(sink.port), { maxConnections: 2 });
    const last = pool.send(jobTo('250-held@example.org'));
    await Promise.all([pool.send(jobTo('user@example.org')), sink.waitForMessages(2)]);
    sink.release();
    await last;
    sink.clear();
    await pool.send(jobTo('user@example.org'));
    expect(sink.messages[0]?.connection).toBe(1);
  });

  it.each([
    ['takes the next mail', '250 ok\r\n', 1],
    ['is replaced', '500 what\r\n', 2],
  ])('does not let a refusal wait for the reply to RSET, after which the connection %s', async (_what, reply, used) => {
    await start();
    let answer = (): void => undefined;
    const asked = new Promise<void>((resolve) => (answer = resolve));
    const server = await ScriptedSmtpServer.start(async (peer, connection) => {
      await peer.greet(['PIPELINING']);
      if (connection === 1) {
        await peer.until('DATA\r\n');
        peer.send('250 ok\r\n550 5.1.1 no\r\n503 no\r\n');
        await peer.expect('RSET');
        await asked;
        peer.send(reply);
        if (used === 2) return void (await peer.untilGone());
      }
      await peer.grantEnvelope();
      await peer.until('\r\n.\r\n');
      peer.send('250 taken\r\n');
    });
    const pool = clients.pool(endpointOf(server.port), { maxConnections: 5 });
    expect(await pool.send(jobTo('nobody@example.org'))).toMatchObject({ kind: 'rejected', phase: 'rcpt' });
    expect(pool).toMatchObject({ openConnections: 1, idleConnections: 0, hasRoom: true });
    const next = pool.send(jobTo('user@example.org'));
    // The server may take no second connection.
    expect(pool.openConnections).toBe(1);
    answer();
    expect(await next).toMatchObject(ACCEPTED);
    expect(server.connectionCount).toBe(used);
    pool.destroy();
    await server.stop();
  });

  it('sends QUIT on an idle connection', async () => {
    await start();
    const pool = clients.pool(endpointOf(sink.port), { idleSeconds: SOON });
    expect(await pool.send(jobTo('user@example.org'))).toMatchObject(ACCEPTED);
    await sink.waitFor(() => sink.openConnections === 0);
    expect(sink.commands.at(-1)).toBe('QUIT');
    expect(pool).toMatchObject({ openConnections: 0, idleConnections: 0 });
    expect(await pool.send(jobTo('user@example.org'))).toMatchObject(ACCEPTED);
    expect(sink.connectionCount).toBe(2);
  });

  it('forgets an idle connection that the server has closed', async () => {
    await start();
    const pool = clients.pool(endpointOf(sink.port));
    await pool.send(jobTo('user@example.org'));
    sink.dropConnections();
    await sink.waitFor(() => sink.openConnections === 0);
    expect(await pool.send(jobTo('user@example.org'))).toMatchObject(ACCEPTED);
    expect(sink.connectionCount).toBe(2);
  });

  it.each([
    ['refuses', { startTls: 'refuse' }],
    ['breaks', { startTls: 'close' }],
  ] as const)('goes on in plaintext where the server %s opportunistic TLS', async (_case, options) => {
    await start(options);
    const pool = clients.pool(endpointOf(sink.port));
    const result = await pool.send(jobTo('user@example.org'));
    expect(result).toMatchObject({ ...ACCEPTED, tls: false, trace: { policy: 'opportunistic', tls: undefined } });
    // Encrypted, encrypted once more, in plaintext.
    expect(sink).toMatchObject({ connectionCount: 3, messageCount: 1 });
    expect(sink.commands.filter((line) => line === 'STARTTLS')).toHaveLength(2);
    expect(toSmtpFacts(result)).toMatchObject({
      tls: false,
      tlsFailure: expect.stringMatching(/STARTTLS|closed|reset/),
    });
    // The next goes over the same connection, and says the same.
    expect(toSmtpFacts(await pool.send(jobTo('next@example.org')))).toHaveProperty('tlsFailure');
    expect(sink.connectionCount).toBe(3);
  });

  it('encrypts after all where STARTTLS broke once', async () => {
    const server = await ScriptedSmtpServer.start(async (peer, connection) => {
      await peer.greet(['STARTTLS']);
      await peer.expect('STARTTLS');
      peer.send('220 go\r\n');
      if (connection === 1) return peer.close();
      peer.encrypt();
      await peer.hello();
      await peer.expect('MAIL');
      await peer.takeMail();
    });
    const result = await clients.pool(endpointOf(server.port)).send(jobTo('user@example.org'));
    expect(result).toMatchObject({ ...ACCEPTED, tls: true });
    expect(toSmtpFacts(result)).not.toHaveProperty('tlsFailure');
    expect(server.connectionCount).toBe(2);
    clients.destroyAll();
    await server.stop();
  });

  it('gives no mail a connection that was made under other demands', async () => {
    await start({ startTls: 'offer' });
    const pool = clients.pool(endpointOf(sink.port), { maxConnections: 1 });
    const required = endpointOf(sink.port, { security: 'starttls' });
    const open: number[] = [];
    const hooks = { beforeFinalDot: (): boolean => open.push(pool.openConnections) > 0 };
    for (const endpoint of [undefined, required, required, undefined]) {
      const result = await pool.send(jobTo('user@example.org', endpoint ? { hooks, endpoint } : { hooks }));
      const policy = endpoint ? 'required' : 'opportunistic';
      expect(result).toMatchObject({ ...ACCEPTED, tls: true, trace: { policy } });
    }
    expect(sink.connectionCount).toBe(3);
    expect(Math.max(...open)).toBe(1);
  });

  it('continues TLS sessions, under the same demands only, and takes none for verified that was not', async () => {
    await start({ startTls: 'offer' });
    const tlsSessions = new TlsSessions();
    const trustedCertificates = [TEST_CERTIFICATE.cert];
    const send = async (hostName: string, more: Partial<SmtpEndpoint> = {}) => {
      const endpoint = endpointOf(sink.port, { trustedCertificates, hostName, ...more });
      const pool = clients.pool(endpoint, { tlsSessions });
      const { trace } = await pool.send(jobTo('user@example.org'));
      await pool.close();
      return [trace?.tls?.verified, sink.resumedSessions];
    };
    const { hostName } = TEST_CERTIFICATE;
    expect(await send(hostName)).toEqual([true, 0]);
    expect(await send(hostName)).toEqual([true, 1]);
    expect(await send(hostName, { security: 'starttls', verifyCertificate: true })).toEqual([true, 1]);
    expect(await send('mx.other.test')).toEqual([false, 1]);
    expect(await send('mx.other.test')).toEqual([false, 2]);
  });

  it('keeps to its limit of connections while it goes back to plaintext', async () => {
    await start({ startTls: 'close' });
    const pool = clients.pool(endpointOf(sink.port), { maxConnections: 2, maxMessagesPerConnection: 3 });
    const open: number[] = [];
    const hooks = { beforeFinalDot: (): boolean => open.push(pool.openConnections) > 0 };
    const results = await Promise.all(recipients(30).map((recipient) => pool.send(jobTo(recipient, { hooks }))));
    expect(results.every((result) => result.kind === 'accepted' && !result.tls)).toBe(true);
    expect(Math.max(...open)).toBe(2);
  });

  it('does not where TLS is required', async () => {
    await start({ startTls: 'refuse' });
    const pool = clients.pool(endpointOf(sink.port, { security: 'starttls' }));
    expect(await pool.send(jobTo('user@example.org'))).toMatchObject({
      kind: 'failed',
      phase: 'tls',
      cause: 'tls',
      heldBackBy: 'required',
    });
    expect(sink.connectionCount).toBe(1);
  });

  it('gives each job its own failure when nothing listens', async () => {
    await start();
    const { port } = sink;
    await sink.stop();
    const pool = clients.pool(endpointOf(port), { maxConnections: 2 });
    const results = await Promise.all(recipients(5).map((recipient) => pool.send(jobTo(recipient))));
    for (const result of results) expect(result).toMatchObject({ kind: 'failed', phase: 'connect', cause: 'refused' });
    expect(pool).toMatchObject({ openConnections: 0 });
  });

  describe('to a host that takes two messages on a connection', () => {
    it('sends what it refused with 421 again at once over a fresh one, and learns', async () => {
      await start({ maxMessagesPerConnection: 2 });
      const pool = clients.pool(endpointOf(sink.port));
      const results = await Promise.all(recipients(8).map((recipient) => pool.send(jobTo(recipient))));
      for (const result of results) expect(result).toMatchObject(ACCEPTED);
      // The third MAIL on the first connection was refused; after that it was not tried again.
      expect(sink.commands.filter((line) => line.startsWith('MAIL'))).toHaveLength(9);
    });

    it('shares the lesson among the addresses of the host', async () => {
      await start({ maxMessagesPerConnection: 2 });
      const cap = new MessageCap();
      for (let address = 1; address <= 2; address += 1) {
        const pool = clients.pool(endpointOf(sink.port), { cap });
        await Promise.all(recipients(4).map((recipient) => pool.send(jobTo(recipient))));
      }
      expect(cap.within(100)).toBe(2);
      expect(sink.commands.filter((line) => line.startsWith('MAIL'))).toHaveLength(9);
    });

    it('takes a 421 on a fresh connection at its word', async () => {
      await start();
      const pool = clients.pool(endpointOf(sink.port));
      await pool.send(jobTo('user@example.org'));
      const refused = await pool.send(jobTo('mail-421@example.org'));
      // The kept connection is not to blame twice.
      expect(refused).toMatchObject({ kind: 'rejected', phase: 'mail', reply: { code: 421 } });
      expect(sink.connectionCount).toBe(2);
      const results = [];
      for (const recipient of recipients(3)) results.push(await pool.send(jobTo(recipient)));
      // Nor has it taught anything.
      expect(results).toMatchObject([ACCEPTED, ACCEPTED, ACCEPTED]);
      expect(sink.connectionCount).toBe(3);
    });
  });

  it('rejects unsafe jobs and goes on with the others', async () => {
    await start();
    const pool = clients.pool(endpointOf(sink.port));
    const [first, unsafe, last] = await Promise.allSettled(
      ['a@example.org', 'b\r\n@example.org', 'c@example.org'].map((recipient) => pool.send(jobTo(recipient))),
    );
    expect([first, last]).toMatchObject([{ value: ACCEPTED }, { value: ACCEPTED }]);
    expect(unsafe).toMatchObject({ status: 'rejected', reason: expect.any(AppError) as unknown });
    expect(sink.connectionCount).toBe(1);
  });

  it('rejects a job whose hook throws, and goes on with the others on a new connection', async () => {
    await start();
    const pool = clients.pool(endpointOf(sink.port));
    const hooks = {
      beforeFinalDot: (): boolean => {
        throw new Error('lease lost');
      },
    };
    const [failed, next] = await Promise.allSettled([
      pool.send(jobTo('a@example.org', { hooks })),
      pool.send(jobTo('b@example.org')),
    ]);
    expect(failed).toMatchObject({ status: 'rejected' });
    expect(next).toMatchObject({ value: ACCEPTED });
    expect(sink.messages.map((message) => message.recipients)).toEqual([['b@example.org']]);
  });

  it('rejects jobs for an impossible endpoint', async () => {
    await start();
    const pool = clients.pool(endpointOf(70_000));
    await expect(pool.send(jobTo('a@example.org'))).rejects.toThrow(/port/i);
    expect(pool.openConnections).toBe(0);
    await pool.close();
  });

  it('refuses an EHLO name that is none', async () => {
    await start();
    expect(() => clients.pool(endpointOf(sink.port), { heloName: 'a\r\nb' })).toThrow(AppError);
  });

  describe('that closes', () => {
    it('sends waiting mail, sends QUIT everywhere and accepts no more', async () => {
      await start();
      const pool = clients.pool(endpointOf(sink.port), { maxConnections: 2 });
      const sending = recipients(10).map((recipient) => pool.send(jobTo(recipient)));
      const closing = pool.close();
      expect(await pool.send(jobTo('late@example.org'))).toMatchObject({ ...ABORTED, phase: 'connect' });
      await closing;
      for (const result of await Promise.all(sending)) expect(result).toMatchObject(ACCEPTED);
      expect(sink.messageCount).toBe(10);
      expect(sink.commands.filter((line) => line === 'QUIT')).toHaveLength(2);
      expect(pool.openConnections).toBe(0);
    });

    it('is closed at once when it has no connection', async () => {
      await start();
      await clients.pool(endpointOf(sink.port)).close();
      expect(sink.connectionCount).toBe(0);
    });

    it('waits for the second try of a job', async () => {
      await start({ startTls: 'close' });
      const pool = clients.pool(endpointOf(sink.port));
      const sending = pool.send(jobTo('user@example.org'));
      await pool.close();
      expect(await sending).toMatchObject(ACCEPTED);
    });
  });

  it('drops waiting mail on request', async () => {
    await start();
    const pool = clients.pool(endpointOf(sink.port));
    const [busy, ...waiting] = recipients(5).map((recipient) => pool.send(jobTo(recipient)));
    expect(pool.dropWaiting()).toBe(4);
    for (const result of await Promise.all(waiting)) expect(result).toMatchObject({ ...ABORTED, phase: 'connect' });
    expect(await busy).toMatchObject(ACCEPTED);
  });

  it('destroyed, ends everything with its phase', async () => {
    await start();
    const pool = clients.pool(endpointOf(sink.port), { maxConnections: 2 });
    const sending = ['hang-after-dot', 'hang-at-rcpt', 'user'].map((name) => pool.send(jobTo(`${name}@example.org`)));
    const named = () => sink.commands.filter((line) => line.startsWith('RCPT')).length;
    await waitFor(() => sink.unanswered.length === 1 && named() === 2, { what: 'both conversations' });
    // By the time another connection has been greeted, the replies before have been read.
    (await clients.ready(endpointOf(sink.port))).destroy();
    pool.destroy();
    expect(await Promise.all(sending)).toMatchObject([
      { ...ABORTED, phase: 'final', afterFinalDot: true },
      { ...ABORTED, phase: 'rcpt', afterFinalDot: false },
      { ...ABORTED, phase: 'connect', afterFinalDot: false },
    ]);
    await sink.waitFor(() => sink.openConnections === 0);
    expect(await pool.send(jobTo('user@example.org'))).toMatchObject(ABORTED);
    await pool.close();
  });

  it('leaves no socket behind', async () => {
    await start();
    const before = countSockets();
    const pool = clients.pool(endpointOf(sink.port), { maxConnections: 4, maxMessagesPerConnection: 10 });
    await Promise.all(recipients(200).map((recipient) => pool.send(jobTo(recipient))));
    await pool.close();
    await waitFor(() => countSockets() <= before, { what: 'the sockets to close' });
  });

  function countSockets(): number {
    return process.getActiveResourcesInfo().filter((resource) => resource === 'TCPSocketWrap').length;
  }

  describe('when a kept connection turns out to be dead', () => {
    const scripted: ScriptedSmtpServer[] = [];
    beforeEach(() => start());
    afterEach(() => Promise.all(scripted.splice(0).map((server) => server.stop())));

    /** Takes one message per connection; at the next MAIL it does what `atReuse` says, on connections up to `bad`. */
    async function sendTwo(
      how: 'close' | 'reset' | 'answer',
      bad = 1,
    ): Promise<{ results: SmtpResult[]; connections: number }> {
      const server = await ScriptedSmtpServer.start(async (peer, connection) => {
        await peer.greet(['PIPELINING']);
        for (let message = 1; ; message += 1) {
          if (connection > 1 && connection <= bad) return peer.close();
          await peer.until('DATA\r\n');
          if (message === 2 && connection === 1) {
            if (how === 'answer') peer.send('250 ok\r\n');
            return how === 'reset' ? peer.reset() : peer.close();
          }
          peer.send('250 ok\r\n250 ok\r\n354 go\r\n');
          await peer.until('\r\n.\r\n');
          peer.send('250 taken\r\n');
        }
      });
      scripted.push(server);
      const pool = clients.pool(endpointOf(server.port));
      const results = [await pool.send(jobTo('a@example.org')), await pool.send(jobTo('b@example.org'))];
      return { results, connections: server.connectionCount };
    }

    it.each([['close'], ['reset']] as const)('by %s, the job gets a fresh one', async (how) => {
      const { results, connections } = await sendTwo(how);
      expect(results).toMatchObject([ACCEPTED, ACCEPTED]);
      expect(connections).toBe(2);
    });

    it('a second failure is final', async () => {
      const { results, connections } = await sendTwo('close', 2);
      expect(results).toMatchObject([ACCEPTED, { kind: 'failed', phase: 'mail', cause: 'closed' }]);
      expect(connections).toBe(2);
    });

    it('anything after a reply is final at once', async () => {
      const { results, connections } = await sendTwo('answer');
      expect(results).toMatchObject([
        ACCEPTED,
        { kind: 'failed', phase: 'rcpt', cause: 'closed', afterFinalDot: false },
      ]);
      expect(connections).toBe(1);
    });
  });
});

describe('the pools of many hosts', () => {
  const endpointNamed = (port: number, hostName: string) => endpointOf(port, { hostName, security: 'none' });
  let sink: SmtpSink;
  let pools: NextHopPools;

  beforeEach(async () => {
    sink = await SmtpSink.start();
  });
  afterEach(async () => {
    pools.destroy();
    await sink.stop();
  });

  it.each<[string, () => void]>([
    ['minutes', () => jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 10 * MINUTE)],
    [
      'mail to thousands of others',
      () => {
        for (let n = 0; n < 3_000; n += 1) pools.to(endpointNamed(sink.port, `mx${n}.example`));
      },
    ],
  ])('know of a connection in use after %s', async (_what, pass) => {
    pools = new NextHopPools({ heloName: HELO_NAME, maxConnections: 1 }, new SystemClock());
    const endpoint = endpointNamed(sink.port, 'busy.example');
    const sending = pools.to(endpoint).send(jobTo('250-held@example.org'));
    await sink.waitFor(() => sink.messageCount === 1);
    pass();
    void pools.to(endpoint);
    expect(pools.hasRoomAt(endpoint)).toBe(false);
    jest.restoreAllMocks();
    sink.release();
    expect(await sending).toMatchObject(ACCEPTED);
  });

  it('look at a few for each further host, however many are in use', () => {
    pools = new NextHopPools({ heloName: HELO_NAME, maxConnections: 1 }, new SystemClock(), 100);
    const isUnused = jest.spyOn(SmtpPool.prototype, 'isUnused', 'get').mockReturnValue(false);
    const addTo = (from: number, to: number) => {
      for (let n = from; n < to; n += 1) pools.to(endpointNamed(sink.port, `mx${n}.example`));
    };
    addTo(0, 100);
    addTo(100, 500);
    expect(isUnused.mock.calls.length).toBeLessThan(400 * 20);
    // Whichever has ended is found by a few further ones.
    isUnused.mockReturnValue(true);
    addTo(500, 530);
    const before = isUnused.mock.calls.length;
    addTo(530, 630);
    expect(isUnused.mock.calls.length - before).toBeLessThan(200);
    isUnused.mockRestore();
  });

  it('close what has been unused for longest, and forget it once it is closed', async () => {
    pools = new NextHopPools({ heloName: HELO_NAME, maxConnections: 1, idleSeconds: 600 }, new SystemClock(), 2);
    const sendTo = (host: string) => pools.to(endpointNamed(sink.port, host)).send(jobTo('user@example.org'));
    const [a, b] = ['a.example', 'b.example'].map((host) => pools.to(endpointNamed(sink.port, host)));
    for (const host of ['a.example', 'b.example', 'a.example']) expect(await sendTo(host)).toMatchObject(ACCEPTED);
    expect(await sendTo('c.example')).toMatchObject(ACCEPTED);
    await waitFor(() => pools.openConnections === 2, { what: 'the end of a connection' });
    expect([a?.openConnections, b?.openConnections]).toEqual([1, 0]);
    expect(await sendTo('d.example')).toMatchObject(ACCEPTED);
    expect(pools.to(endpointNamed(sink.port, 'b.example'))).not.toBe(b);
    expect(pools.to(endpointNamed(sink.port, 'c.example')).openConnections).toBe(1);
  });
});
