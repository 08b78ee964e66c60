import { createHash, X509Certificate } from 'node:crypto';
import type { SmtpEndpoint } from '../../../src/delivery/smtp/conversation/smtp-endpoint';
import { tlsaDemandOf } from '../../../src/delivery/smtp/conversation/tlsa';
import { ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import { SmtpSink } from '../../doubles/smtp-sink';
import type { SmtpSinkOptions } from '../../doubles/smtp-sink';
import { TEST_CERTIFICATE } from '../../doubles/tls-certificate';
import { TEST_CHAIN } from '../../doubles/tls-chain';
import { HELO_NAME, HUGE_MESSAGE, SOON, SmtpClients, endpointOf, jobTo, send } from './smtp-client-kit';

const TRUSTED = [TEST_CERTIFICATE.cert];

describe('encryption', () => {
  const clients = new SmtpClients();
  let sink: SmtpSink | undefined;
  let server: ScriptedSmtpServer | undefined;

  afterEach(async () => {
    clients.destroyAll();
    await sink?.stop();
    await server?.stop();
    sink = server = undefined;
  });

  async function endpoint(options: SmtpSinkOptions, more: Partial<SmtpEndpoint>): Promise<SmtpEndpoint> {
    sink = await SmtpSink.start(options);
    return endpointOf(sink.port, more);
  }

  it.each([
    ['opportunistic, unverifiable', { startTls: 'offer' }, { security: 'opportunistic', verifyCertificate: true }],
    ['required, unverified', { startTls: 'offer' }, { security: 'starttls' }],
    [
      'required, verified',
      { startTls: 'offer' },
      { security: 'starttls', verifyCertificate: true, trustedCertificates: TRUSTED },
    ],
    ['implicit, unverified', { implicitTls: true }, { security: 'implicit' }],
    [
      'implicit, verified',
      { implicitTls: true },
      { security: 'implicit', verifyCertificate: true, trustedCertificates: TRUSTED },
    ],
  ] as const)('succeeds: %s', async (_case, options, more) => {
    const connection = await clients.ready(await endpoint(options, more));
    expect(await send(connection)).toMatchObject({ kind: 'accepted', tls: true });
    expect(await send(connection, 'rcpt-550')).toMatchObject({ kind: 'rejected', phase: 'rcpt', tls: true });
    expect(await send(connection, 'user', HUGE_MESSAGE)).toMatchObject({ kind: 'accepted', tls: true });
    expect(sink?.messages.map((message) => message.tls)).toEqual([true, true]);
  });

  it.each([
    ['close-after-dot', 'final', true],
    ['reset-after-dot', 'final', true],
    ['reset-at-rcpt', 'rcpt', false],
  ])('reports %s as in plaintext', async (localPart, phase, afterFinalDot) => {
    const connection = await clients.ready(await endpoint({ startTls: 'offer' }, {}));
    const result = await send(connection, localPart);
    expect(result).toMatchObject({ kind: 'failed', phase, afterFinalDot, tls: true });
    expect(result).toHaveProperty('cause', expect.stringMatching(/^(closed|reset)$/));
    await sink?.waitFor(() => sink?.openConnections === 0);
  });

  it('takes a message for accepted although the connection is reset after the 250', async () => {
    const connection = await clients.ready(await endpoint({ startTls: 'offer' }, {}));
    expect(await send(connection, '250-then-rst')).toMatchObject({ kind: 'accepted', tls: true });
    await sink?.waitFor(() => sink?.openConnections === 0);
  });

  it('greets again after STARTTLS', async () => {
    await clients.ready(await endpoint({ startTls: 'offer' }, {}));
    expect(sink?.commands).toEqual([`EHLO ${HELO_NAME}`, 'STARTTLS', `EHLO ${HELO_NAME}`]);
  });

  it('forgets what the server offered in plaintext', async () => {
    server = await ScriptedSmtpServer.start(async (peer) => {
      await peer.greet(['STARTTLS', 'PIPELINING', 'SIZE 10', 'AUTH PLAIN']);
      await peer.expect('STARTTLS');
      peer.send('220 go\r\n');
      peer.encrypt();
      await peer.hello();
      expect(await peer.line()).toBe('MAIL FROM:<bounces@example.com>');
      expect(peer.takeBuffered()).toBe('');
      peer.send('550 no\r\n');
      await peer.expect('RSET');
      peer.send('250 ok\r\n');
    });
    const connection = await clients.ready(endpointOf(server.port));
    expect(await send(connection)).toMatchObject({ kind: 'rejected', phase: 'mail', tls: true });
  });

  it('is not attempted with security none, nor where it is not offered', async () => {
    const offered = await clients.ready(await endpoint({ startTls: 'offer' }, { security: 'none' }));
    expect(await send(offered)).toMatchObject({ kind: 'accepted', tls: false });
    await sink?.stop();
    const missing = await clients.ready(await endpoint({}, {}));
    expect(await send(missing)).toMatchObject({ kind: 'accepted', tls: false });
  });

  describe('under TLSA records (DANE)', () => {
    const chain = { key: TEST_CHAIN.key, cert: `${TEST_CHAIN.cert}\n${TEST_CHAIN.authority}\n` };
    const keyOf = (pem: string) => new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' });
    const demand = (usage: number, pem: string, baseDomain = TEST_CHAIN.hostName, nextHopNames?: string[]) => {
      const data = createHash('sha256').update(keyOf(pem)).digest();
      const tlsa = tlsaDemandOf(baseDomain, [{ usage, selector: 1, matchingType: 1, data }], nextHopNames);
      return { security: 'starttls', policy: 'dane', tlsa } as const;
    };

    it.each([
      ['names its key', demand(3, TEST_CHAIN.cert), true],
      ['names what has signed it', demand(2, TEST_CHAIN.authority), true],
      [
        'names what has signed it for the domain of the recipient',
        demand(2, TEST_CHAIN.authority, 'mx.other.test', ['x.test', TEST_CHAIN.hostName]),
        true,
      ],
      ['cannot be used', demand(1, TEST_CHAIN.cert), false],
    ])('takes a certificate when the record %s', async (_what, more, verified) => {
      const connection = await clients.ready(await endpoint({ startTls: 'offer', certificate: chain }, more));
      expect(await send(connection)).toMatchObject({ kind: 'accepted', trace: { policy: 'dane', tls: { verified } } });
    });

    it.each([
      ['of another key', demand(3, TEST_CERTIFICATE.cert)],
      ['of another authority', demand(2, TEST_CERTIFICATE.cert)],
      ['of another name', demand(2, TEST_CHAIN.authority, 'mx.other.test', ['x.test'])],
    ])('takes none %s', async (_what, more) => {
      const refusal = await clients.refusal(await endpoint({ startTls: 'offer', certificate: chain }, more));
      expect(refusal).toMatchObject({ phase: 'tls', cause: 'tls', heldBackBy: 'dane', tlsFault: 'validation-failure' });
      expect(sink?.commands.join()).not.toMatch('MAIL');
    });

    it('keeps the mail of other domains off a connection to a host that is proven for one of them', async () => {
      const to = (domain: string) => demand(2, TEST_CHAIN.authority, 'mx.other.test', [domain]);
      const own = await endpoint({ startTls: 'offer', certificate: chain }, to(TEST_CHAIN.hostName));
      const pool = clients.pool(own);
      const send = (domain: string) => pool.send(jobTo('user@x.test', { endpoint: { ...own, ...to(domain) } }));
      expect(await send(TEST_CHAIN.hostName)).toMatchObject({ kind: 'accepted' });
      expect(await send('x.test')).toMatchObject({ kind: 'failed', heldBackBy: 'dane' });
      expect(await send(TEST_CHAIN.hostName)).toMatchObject({ kind: 'accepted' });
      expect(sink?.messageCount).toBe(2);
    });
  });

  it.each([
    ['not offered', {}, { security: 'starttls' }, false],
    ['refused', { startTls: 'refuse' }, { security: 'starttls' }, false],
    ['refused', { startTls: 'refuse' }, { security: 'opportunistic' }, true],
    ['an unknown authority', { startTls: 'offer' }, { security: 'starttls', verifyCertificate: true }, false],
    [
      'the wrong name',
      { startTls: 'offer' },
      { security: 'starttls', verifyCertificate: true, trustedCertificates: TRUSTED, hostName: 'mx.other.test' },
      false,
    ],
    ['an unknown authority', { implicitTls: true }, { security: 'implicit', verifyCertificate: true }, false],
    ['plaintext for TLS', {}, { security: 'implicit' }, false],
  ] as const)('fails: %s with %j', async (_case, options, more, mayRetry) => {
    const refusal = await clients.refusal(await endpoint(options, more));
    expect(refusal).toMatchObject({ kind: 'failed', phase: 'tls', afterFinalDot: false, tls: false });
    expect(refusal).toHaveProperty('cause', expect.stringMatching(/^(tls|protocol)$/));
    expect('mayRetryInPlaintext' in (refusal ?? {})).toBe(mayRetry);
  });

  it('keeps the reply that refused it', async () => {
    const refusal = await clients.refusal(await endpoint({ startTls: 'refuse' }, {}));
    expect(refusal).toMatchObject({ cause: 'tls', reply: { code: 454, enhancedCode: '4.7.0' } });
  });

  it.each([
    ['hangs up', async (): Promise<SmtpEndpoint> => endpoint({ startTls: 'close' }, {}), /^(closed|reset)$/],
    [
      'says nothing',
      async (): Promise<SmtpEndpoint> => {
        server = await ScriptedSmtpServer.start(async (peer) => {
          await peer.greet(['STARTTLS']);
          await peer.expect('STARTTLS');
          peer.send('220 go\r\n');
        });
        return endpointOf(server.port);
      },
      /^timeout$/,
    ],
    [
      'talks plaintext in the handshake',
      async (): Promise<SmtpEndpoint> => {
        server = await ScriptedSmtpServer.start(async (peer) => {
          await peer.greet(['STARTTLS']);
          await peer.expect('STARTTLS');
          peer.send('220 go\r\n');
          await peer.untilInput();
          peer.send('250 not really\r\n');
        });
        return endpointOf(server.port);
      },
      /^tls$/,
    ],
  ])(
    'fails when the server %s instead of shaking hands, and plaintext is allowed then',
    async (_case, prepare, cause) => {
      const timeouts = cause.test('timeout') ? { tls: SOON } : {};
      const refusal = await clients.refusal(await prepare(), { timeouts });
      expect(refusal).toMatchObject({ kind: 'failed', phase: 'tls', mayRetryInPlaintext: true });
      expect(refusal).toHaveProperty('cause', expect.stringMatching(cause));
    },
  );

  it.each([['250 injected\r\n'], ['2'], ['\r\n'], ['250-PIPELINING\r\n250 AUTH PLAIN\r\n']])(
    'takes encryption for broken when %j follows the 220 in plaintext (response injection), and reads none of it',
    async (injected) => {
      server = await ScriptedSmtpServer.start(async (peer) => {
        await peer.greet(['STARTTLS']);
        await peer.expect('STARTTLS');
        peer.send(`220 go\r\n${injected}`);
        await peer.untilGone();
      });
      const refusal = await clients.refusal(endpointOf(server.port));
      expect(refusal).toMatchObject({ kind: 'failed', phase: 'tls', cause: 'protocol', mayRetryInPlaintext: true });
      const required = await clients.refusal(endpointOf(server.port, { security: 'starttls' }));
      expect(required).toMatchObject({ phase: 'tls', cause: 'protocol', heldBackBy: 'required' });
      expect(required).not.toHaveProperty('mayRetryInPlaintext');
      expect(server.received).toBe(`EHLO ${HELO_NAME}\r\nSTARTTLS\r\n`.repeat(2));
    },
  );

  it('closes on 421 to STARTTLS without a word of plaintext', async () => {
    server = await ScriptedSmtpServer.start(async (peer) => {
      await peer.greet(['STARTTLS']);
      await peer.expect('STARTTLS');
      peer.send('421 4.3.2 going down\r\n');
    });
    const refusal = await clients.refusal(endpointOf(server.port));
    expect(refusal).toMatchObject({ kind: 'rejected', phase: 'tls', reply: { code: 421 } });
  });

  describe('and logging in', () => {
    const auth = { user: 'relay', password: 'secret' };
    const users = { relay: 'secret' };

    it.each([[['PLAIN']], [['LOGIN']]])('works over TLS with %j', async (authMechanisms) => {
      const options = { startTls: 'offer', users, authMechanisms } as const;
      const connection = await clients.ready(await endpoint(options, { security: 'starttls', auth }));
      expect(await send(connection)).toMatchObject({ kind: 'accepted' });
      expect(sink?.messages[0]).toMatchObject({ user: 'relay', tls: true });
    });

    it('works in plaintext on this machine', async () => {
      const connection = await clients.ready(await endpoint({ users }, { auth }));
      expect(await send(connection)).toMatchObject({ kind: 'accepted' });
    });

    it('reports a wrong password', async () => {
      const refusal = await clients.refusal(await endpoint({ users: { relay: 'other' } }, { auth }));
      expect(refusal).toMatchObject({ kind: 'rejected', phase: 'auth', reply: { code: 535, enhancedCode: '5.7.8' } });
    });

    it('never falls back to plaintext', async () => {
      const refusal = await clients.refusal(await endpoint({ startTls: 'refuse', users }, { auth }));
      expect(refusal).toMatchObject({ kind: 'failed', phase: 'tls' });
      expect(refusal).not.toHaveProperty('mayRetryInPlaintext');
    });
  });
});
