import { MINUTE } from '../../../src/common/clock';
import { SilentTls } from '../../../src/delivery/smtp/conversation/host-memory';
import type { SmtpEndpoint } from '../../../src/delivery/smtp/conversation/smtp-endpoint';
import { toSmtpFacts } from '../../../src/delivery/smtp/conversation/smtp-result';
import { FakeClock } from '../../doubles/fake-clock';
import { type ScriptedPeer, ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import { SOON, SmtpClients, endpointOf, jobTo } from './smtp-client-kit';

/** What a server does instead of encrypting, after the command. */
type Break = (peer: ScriptedPeer) => Promise<void> | void;

/** The level and the reason of RFC 8446 section 6: fatal, no cipher in common. */
const ALERT = Buffer.from([21, 3, 3, 0, 2, 2, 40]);

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
      return (await peer.line()) === 'STARTTLS' ? how(peer) : peer.takeMail();
    });
  }

  const silence: Break = (peer) => void peer.send('220 go\r\n');
  const alert: Break = async (peer) => {
    peer.send('220 go\r\n');
    await peer.untilInput();
    peer.send(ALERT);
  };
  const works: Break = async (peer) => {
    peer.send('220 go\r\n');
    peer.encrypt();
    await peer.hello();
    await peer.expect('MAIL');
    await peer.takeMail();
  };

  const BREAKS: [string, Break, cause: string][] = [
    ['no reply', (peer) => void peer.send('\x00\xffnonsense\r\n'), 'protocol'],
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
    ['an alert', alert, 'tls'],
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
    ['silence', silence, 'timeout'],
    ['no word', () => undefined, 'timeout'],
  ];

  describe.each(BREAKS)('with %s', (_what, how, cause) => {
    const timeouts = cause === 'timeout' ? { tls: SOON } : {};

    it('is tried once more on a fresh connection, then the mail goes in plaintext, and that is reported', async () => {
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
    await start(silence);
    const pool = clients.pool(endpointOf(server.port));
    const result = await pool.send(jobTo('user@example.org', { attemptSeconds: SOON }));
    expect(result).toMatchObject({ kind: 'failed', phase: 'tls', cause: 'timeout', tls: false });
    expect([server.connectionCount, server.received]).toEqual([1, expect.not.stringContaining('MAIL')]);
  });

  it('is waited for a short time first, and for the whole time at the second try', async () => {
    await start((peer) => (server.connectionCount === 1 ? silence(peer) : works(peer)));
    const pool = clients.pool(endpointOf(server.port), { timeouts: { firstTls: SOON } });
    const result = await pool.send(jobTo('user@example.org'));
    expect([result, server.connectionCount]).toMatchObject([{ kind: 'accepted', tls: true }, 2]);
  });

  describe('with silence that is known', () => {
    const clock = new FakeClock();
    let silentTls: SilentTls;
    let now: Break;

    beforeEach(async () => {
      clock.set('2026-01-05T12:00:00Z');
      silentTls = new SilentTls(clock);
      now = silence;
      await start((peer) => now(peer));
      await send();
    });

    /** Over a connection of its own. */
    async function send(more: Partial<SmtpEndpoint> = {}) {
      const before = server.connectionCount;
      // A handshake that works takes its time on a busy machine.
      const timeouts = now === works ? {} : { tls: SOON };
      const pool = clients.pool(endpointOf(server.port, more), { timeouts, silentTls });
      const result = await pool.send(jobTo('user@example.org'));
      return { result, connections: server.connectionCount - before };
    }

    it('costs later mail no time, and its events say since when and until when', async () => {
      const { result, connections } = await send();
      expect(connections).toBe(1);
      expect(result).toMatchObject({ kind: 'accepted', tls: false, trace: { policy: 'opportunistic' } });
      expect(toSmtpFacts(result).tlsFailure).toBe(
        'The server did not answer in time (met by earlier mail at 2026-01-05T12:00:00Z; ' +
          'STARTTLS is not tried at this address before 2026-01-05T12:15:00Z)',
      );
    });

    it.each(['required', 'mta-sts', 'dane'] as const)(
      'lets no mail go in plaintext that must not (%s)',
      async (policy) => {
        const { result, connections } = await send({ security: 'starttls', policy });
        expect([result, connections]).toMatchObject([{ kind: 'failed', phase: 'tls', heldBackBy: policy }, 1]);
      },
    );

    it('lets no credentials go in plaintext', async () => {
      const { result } = await send({ auth: { user: 'relay', password: 'secret' } });
      expect(result).toMatchObject({ kind: 'failed', phase: 'tls', cause: 'timeout' });
    });

    it('is looked at again by one mail after a time, while others go on', async () => {
      clock.advance(15 * MINUTE);
      const looks = send();
      const goesOn = await send();
      expect(goesOn.result).toMatchObject({ kind: 'accepted', tls: false });
      expect(toSmtpFacts((await looks).result).tlsFailure).toBe('The server did not answer in time');
      expect((await send()).connections).toBe(1);
      clock.advance(15 * MINUTE - 1);
      expect((await send()).connections).toBe(1);
    });

    it('is forgotten once the server encrypts', async () => {
      clock.advance(15 * MINUTE);
      now = works;
      for (let mail = 1; mail <= 2; mail += 1) {
        expect(await send()).toMatchObject({ result: { kind: 'accepted', tls: true }, connections: 1 });
      }
    });

    it('is forgotten when mail that demands encryption gets it', async () => {
      now = works;
      expect(await send({ security: 'starttls' })).toMatchObject({ result: { tls: true } });
      expect(await send()).toMatchObject({ result: { kind: 'accepted', tls: true }, connections: 1 });
    });

    it('is left to the next mail when the one that tries gets no reply', async () => {
      clock.advance(15 * MINUTE);
      silentTls.asKnown(endpointOf(server.port));
      expect((await send()).connections).toBe(1);
      clock.advance(3 * MINUTE);
      now = works;
      expect(await send()).toMatchObject({ result: { tls: true } });
    });

    it('ends the tries of mail that began before it was known', async () => {
      const endpoint = endpointOf(server.port);
      silentTls.forget(endpoint);
      const silent = {
        kind: 'failed',
        phase: 'tls',
        cause: 'timeout',
        detail: 'silent',
        afterFinalDot: false,
      } as const;
      now = () => silentTls.note(endpoint, { ...silent, hostName: 'mx', tls: false });
      const { result, connections } = await send();
      expect([toSmtpFacts(result).tlsFailure, connections]).toEqual([expect.stringMatching(/^silent \(met by/), 2]);
    });

    it('is of one address', () => {
      expect(silentTls.asKnown(endpointOf(server.port, { address: '127.0.0.2' }))).toHaveProperty(
        'security',
        'opportunistic',
      );
    });
  });

  it('is met again by each mail where it costs no time', async () => {
    await start(alert);
    const silentTls = new SilentTls(new FakeClock());
    for (const connections of [3, 6]) {
      await clients.pool(endpointOf(server.port), { silentTls }).send(jobTo('user@example.org'));
      expect(server.connectionCount).toBe(connections);
    }
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
