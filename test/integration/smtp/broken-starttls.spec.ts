import { toSmtpFacts } from '../../../src/delivery/smtp/smtp-result';
import { type ScriptedPeer, ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import { SOON, SmtpClients, endpointOf, jobTo } from './smtp-client-kit';

/** What a server does instead of encrypting, after it was asked to. */
type Break = (peer: ScriptedPeer) => Promise<void> | void;

/** The level and the reason of RFC 8446 section 6: fatal, no cipher in common. */
const ALERT = Buffer.from([21, 3, 3, 0, 2, 2, 40]);

async function takeMail(peer: ScriptedPeer): Promise<void> {
  peer.send('250 ok\r\n');
  await peer.expect('RCPT');
  peer.send('250 ok\r\n');
  await peer.expect('DATA');
  peer.send('354 go\r\n');
  await peer.until('\r\n.\r\n');
  peer.send('250 taken\r\n');
  await peer.untilGone();
}

describe('a STARTTLS that breaks', () => {
  const clients = new SmtpClients();
  let server: ScriptedSmtpServer;

  afterEach(async () => {
    clients.destroyAll();
    await server.stop();
  });

  /** Takes mail in plaintext from clients that do not ask for encryption. */
  async function start(how: Break): Promise<void> {
    server = await ScriptedSmtpServer.start(async (peer) => {
      await peer.greet(['STARTTLS']);
      return (await peer.line()) === 'STARTTLS' ? how(peer) : takeMail(peer);
    });
  }

  const BREAKS: [string, Break, cause: string][] = [
    ['no reply at all', (peer) => void peer.send('\x00\xffnonsense\r\n'), 'protocol'],
    ['plain text with the 220', (peer) => void peer.send('220 go\r\n250 what next?\r\n'), 'protocol'],
    [
      'plain text for a handshake',
      async (peer) => {
        peer.send('220 go\r\n');
        await peer.untilInput();
        peer.send('500 5.5.1 what?\r\n');
      },
      'tls',
    ],
    [
      'an alert',
      async (peer) => {
        peer.send('220 go\r\n');
        await peer.untilInput();
        peer.send(ALERT);
      },
      'tls',
    ],
    [
      'the end of the connection',
      (peer) => {
        peer.send('220 go\r\n');
        peer.close();
      },
      'closed',
    ],
    [
      'a reset',
      async (peer) => {
        peer.send('220 go\r\n');
        await peer.untilInput();
        peer.reset();
      },
      'reset',
    ],
    ['silence', (peer) => void peer.send('220 go\r\n'), 'timeout'],
  ];

  describe.each(BREAKS)('with %s', (_what, how, cause) => {
    const timeouts = cause === 'timeout' ? { tls: SOON } : {};

    it('is tried once more on a fresh connection, then the mail goes in plaintext, and that is told', async () => {
      await start(how);
      const result = await clients.pool(endpointOf(server.port), { timeouts }).send(jobTo('user@example.org'));
      expect(result).toMatchObject({ kind: 'accepted', tls: false, trace: { policy: 'opportunistic' } });
      expect(toSmtpFacts(result)).toMatchObject({ tls: false, tlsFailure: expect.stringMatching(/./) });
      expect(server.connectionCount).toBe(3);
    });

    it.each([
      ['required', 'Encryption is required of this mail: '],
      ['mta-sts', "The domain's MTA-STS policy asks for encryption that proves the host: "],
    ] as const)('holds the mail back where it is demanded (%s), and says why', async (policy, words) => {
      await start(how);
      const endpoint = endpointOf(server.port, { security: 'starttls', policy });
      const result = await clients.pool(endpoint, { timeouts }).send(jobTo('user@example.org'));
      expect(result).toMatchObject({
        ...{ kind: 'failed', phase: 'tls', cause, afterFinalDot: false, heldBackBy: policy },
        detail: expect.stringContaining(words),
        tlsFault: 'validation-failure',
      });
      expect([server.connectionCount, server.received]).toEqual([1, expect.not.stringContaining('MAIL')]);
    });
  });

  it('takes no longer with all its tries than one attempt may', async () => {
    await start((peer) => void peer.send('220 go\r\n'));
    const pool = clients.pool(endpointOf(server.port));
    const result = await pool.send(jobTo('user@example.org', { attemptSeconds: SOON }));
    expect(result).toMatchObject({ kind: 'failed', phase: 'tls', cause: 'timeout', tls: false });
    expect([server.connectionCount, server.received]).toEqual([1, expect.not.stringContaining('MAIL')]);
  });

  describe('when the server hangs up after the handshake', () => {
    const hangUp: Break = (peer) => {
      peer.send('220 go\r\n');
      peer.encrypt();
      return peer.expect('EHLO').then(() => peer.close());
    };

    it('is tried once more, then the mail goes in plaintext', async () => {
      await start(hangUp);
      const result = await clients.pool(endpointOf(server.port)).send(jobTo('user@example.org'));
      expect(toSmtpFacts(result)).toMatchObject({ code: 250, tls: false, tlsFailure: expect.stringMatching(/./) });
      expect(server.connectionCount).toBe(3);
    });

    it('is a failure of the server where encryption is required', async () => {
      await start(hangUp);
      const pool = clients.pool(endpointOf(server.port, { security: 'starttls' }));
      const result = await pool.send(jobTo('user@example.org'));
      expect(result).toMatchObject({ kind: 'failed', phase: 'greeting', cause: 'closed' });
      expect(result).not.toHaveProperty('heldBackBy');
      expect(server.connectionCount).toBe(1);
    });
  });
});
