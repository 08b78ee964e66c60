import type { SmtpResult } from '../../../src/delivery/smtp/conversation/smtp-result';
import type { SmtpTimeouts } from '../../../src/delivery/smtp/conversation/smtp-timeouts';
import { ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import type { SmtpScript } from '../../doubles/scripted-smtp-server';
import { HUGE_MESSAGE, MESSAGE, SOON, SmtpClients, endpointOf, send } from './smtp-client-kit';

const PIPELINING = ['PIPELINING'];

describe('a malicious or broken server', () => {
  const clients = new SmtpClients();
  let server: ScriptedSmtpServer;

  afterEach(async () => {
    clients.destroyAll();
    await server.stop();
  });

  async function start(script: SmtpScript): Promise<void> {
    server = await ScriptedSmtpServer.start(script);
  }

  /** The result of one message to a server that behaves until after EHLO. */
  async function sendTo(
    script: SmtpScript,
    timeouts: Partial<SmtpTimeouts> = {},
    message = MESSAGE,
  ): Promise<SmtpResult> {
    await start(async (peer, connection) => {
      await peer.greet(PIPELINING);
      await script(peer, connection);
    });
    const connection = await clients.ready(endpointOf(server.port), { timeouts });
    return send(connection, 'user', message);
  }

  it('whose every reply is split at every byte is understood', async () => {
    const bytewise = (text: string): string[] => [...text];
    await start(async (peer) => {
      await peer.sendPieces(bytewise('220-hello\r\n220 there\r\n'));
      await peer.expect('EHLO');
      await peer.sendPieces(bytewise('250-mx\r\n250-PIPELINING\r\n250 SIZE 1000000\r\n'));
      await peer.expect('MAIL');
      await peer.expect('RCPT');
      await peer.expect('DATA');
      await peer.sendPieces(bytewise('250 2.1.0 ok\r\n250-2.1.5 o\r\n250 2.1.5 k\r\n354 go\r\n'));
      await peer.until('\r\n.\r\n');
      await peer.sendPieces(bytewise('250 2.0.0 taken\r\n'));
    });
    const connection = await clients.ready(endpointOf(server.port));
    expect(await send(connection)).toMatchObject({ kind: 'accepted', reply: { lines: ['2.0.0 taken'] } });
  });

  it('that sends all replies at once, in one chunk with other line ends, is understood', async () => {
    const result = await sendTo(async (peer) => {
      await peer.expect('MAIL');
      await peer.until('DATA\r\n');
      peer.send('250 ok\n250-ok\n250 ok\r\n354\r\n');
      await peer.until('\r\n.\r\n');
      peer.send('250 taken\n');
    });
    expect(result).toMatchObject({ kind: 'accepted' });
  });

  const ENDLESS: [string, string][] = [
    ['an endless reply', '250-and so on\r\n'.repeat(50)],
    ['an endless line', 'x'.repeat(4_096)],
    ['a line of 64 kB', `250 ${'x'.repeat(65_536)}\r\n`],
    ['NUL after NUL', '\0'.repeat(4_096)],
    ['endless replies', '250 ok\r\n'.repeat(200)],
  ];

  it.each(ENDLESS)('with %s as a banner is left', async (_case, text) => {
    await start((peer) => peer.sendForever(text));
    const refusal = await clients.refusal(endpointOf(server.port));
    expect(refusal).toMatchObject({ kind: 'failed', cause: 'protocol' });
  });

  it.each(ENDLESS)('with %s after the final dot is left, and the outcome not guessed', async (_case, text) => {
    const result = await sendTo(async (peer) => {
      await peer.grantEnvelope();
      await peer.until('\r\n.\r\n');
      await peer.sendForever(text);
    });
    // One complete 250 is a reply, whatever follows it.
    if (text.startsWith('250 ok')) expect(result).toMatchObject({ kind: 'accepted' });
    else expect(result).toMatchObject({ kind: 'failed', phase: 'final', cause: 'protocol', afterFinalDot: true });
  });

  it.each([
    ['000 x\r\n', 'protocol'],
    ['abc x\r\n', 'protocol'],
    ['199 x\r\n', 'protocol'],
    ['600 x\r\n', 'protocol'],
    ['250-yes\r\n550 no\r\n', 'protocol'],
    ['354 more please\r\n', 'protocol'],
    ['\r\n', 'protocol'],
    ['250 no line end', 'timeout'],
    ['25', 'timeout'],
  ])('that replies to the final dot with %j leaves the outcome unknown', async (text, cause) => {
    const timeouts = cause === 'timeout' ? { final: SOON } : {};
    const result = await sendTo(async (peer) => {
      await peer.grantEnvelope();
      await peer.until('\r\n.\r\n');
      peer.send(text);
    }, timeouts);
    expect(result).toMatchObject({ kind: 'failed', phase: 'final', cause, afterFinalDot: true });
  });

  it('that replies 299 is taken at its first digit', async () => {
    const result = await sendTo(async (peer) => {
      await peer.grantEnvelope();
      await peer.until('\r\n.\r\n');
      peer.send('299 whatever\r\n');
    });
    expect(result).toMatchObject({ kind: 'accepted', reply: { code: 299 } });
  });

  it('with hostile text is quoted as harmless text', async () => {
    const result = await sendTo(async (peer) => {
      await peer.until('DATA\r\n');
      peer.send('550 5.1.1 <script>\x1b]0;owned\x07\0\xff\r\n503 x\r\n503 x\r\n');
      await peer.expect('RSET');
      peer.send('250 ok\r\n');
    });
    expect(result).toMatchObject({ kind: 'rejected', phase: 'mail', reply: { lines: ['5.1.1 <script>?]0;owned???'] } });
  });

  describe('that lies about PIPELINING', () => {
    it('and drops what came with MAIL is found out at RCPT', async () => {
      const result = await sendTo(
        async (peer) => {
          await peer.until('DATA\r\n');
          peer.send('250 ok\r\n');
        },
        { rcpt: SOON },
      );
      expect(result).toMatchObject({ kind: 'failed', phase: 'rcpt', cause: 'timeout', afterFinalDot: false });
    });

    it.each([
      ['one reply too many before the 354', '250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n'],
      ['one reply too many after the 354', '250 ok\r\n250 ok\r\n354 go\r\n250 taken already\r\n'],
      ['half a reply after the 354', '250 ok\r\n250 ok\r\n354 go\r\n25'],
      ['a 354 in the wrong place', '250 ok\r\n354 go\r\n250 ok\r\n'],
      ['a 250 for DATA', '250 ok\r\n250 ok\r\n250 ok\r\n'],
    ])('and sends %s never sees the message', async (_case, replies) => {
      const result = await sendTo(async (peer) => {
        await peer.until('DATA\r\n');
        peer.send(replies);
        await peer.untilGone();
      });
      expect(result).toMatchObject({ kind: 'failed', cause: 'protocol', afterFinalDot: false });
      expect(server.received).not.toContain('Subject');
    });
  });

  it('that refuses the sender and hangs up has still refused', async () => {
    const result = await sendTo(async (peer) => {
      await peer.until('DATA\r\n');
      peer.send('554 5.7.1 your address is listed\r\n');
      peer.close();
    });
    expect(result).toMatchObject({ kind: 'rejected', phase: 'mail', reply: { code: 554 } });
  });

  it('that refuses the sender, takes the recipient and wants data gets not even an empty message', async () => {
    const result = await sendTo(async (peer) => {
      await peer.until('DATA\r\n');
      peer.send('452 4.3.1 full\r\n250 ok\r\n354 go\r\n');
      await peer.untilGone();
      expect(peer.takeBuffered()).toBe('');
    });
    expect(result).toMatchObject({ kind: 'rejected', phase: 'mail', reply: { code: 452 } });
  });

  it('that mixes refusals and nonsense is taken at its first refusal, and left', async () => {
    const result = await sendTo(async (peer) => {
      await peer.until('DATA\r\n');
      peer.send('250 ok\r\n550 5.1.1 no\r\n220 what\r\n');
      await peer.untilGone();
    });
    expect(result).toMatchObject({ kind: 'rejected', phase: 'rcpt' });
  });

  it.each([
    ['hangs at the RSET', ''],
    ['refuses the RSET', '500 what\r\n'],
  ])('that %s costs the connection, not the result', async (_case, answer) => {
    const result = await sendTo(
      async (peer) => {
        await peer.until('DATA\r\n');
        peer.send('250 ok\r\n550 5.1.1 no\r\n503 no\r\n');
        await peer.expect('RSET');
        peer.send(answer);
        await peer.untilGone();
      },
      { rset: SOON },
    );
    expect(result).toMatchObject({ kind: 'rejected', phase: 'rcpt' });
  });

  it.each([
    ['refuses', '552 5.3.4 too much\r\n', { kind: 'rejected', phase: 'data', reply: { code: 552 } }],
    ['closes with 421', '421 4.3.1 disk full\r\n', { kind: 'rejected', phase: 'data', reply: { code: 421 } }],
    ['accepts', '250 enough\r\n', { kind: 'failed', phase: 'data', cause: 'protocol', afterFinalDot: false }],
    ['talks nonsense', 'stop it\r\n', { kind: 'failed', phase: 'data', cause: 'protocol', afterFinalDot: false }],
  ])('that %s a message before its end never gets the final dot', async (_case, reply, expected) => {
    const result = await sendTo(
      async (peer) => {
        await peer.until('DATA\r\n');
        peer.stopReading();
        peer.send('250 ok\r\n250 ok\r\n354 go\r\n');
        await peer.sendPieces(['', '', reply]);
      },
      {},
      HUGE_MESSAGE,
    );
    expect(result).toMatchObject(expected);
    expect(server.received).not.toContain('\r\n.\r\n');
  });

  it.each([['250 by the way\r\n'], ['421 4.4.2 idle too long\r\n'], ['2'], ['\r\n'], ['\0']])(
    'that says %j unasked is left',
    async (text) => {
      await start(async (peer) => {
        await peer.greet(PIPELINING);
        await peer.grantEnvelope();
        await peer.until('\r\n.\r\n');
        peer.send('250 taken\r\n');
        await peer.sendPieces(['', text]);
        await peer.untilGone();
        isLeft();
      });
      let isLeft = (): void => undefined;
      const left = new Promise<void>((resolve) => (isLeft = resolve));
      const connection = await clients.ready(endpointOf(server.port));
      expect(await send(connection)).toMatchObject({ kind: 'accepted' });
      await left;
      expect(connection.isUsable).toBe(false);
      expect(await send(connection)).toMatchObject({ kind: 'failed', phase: 'mail', cause: 'protocol' });
    },
  );

  it('whose answer comes too late does not answer for the next message', async () => {
    await start(async (peer, connection) => {
      await peer.greet(PIPELINING);
      await peer.grantEnvelope();
      await peer.until('\r\n.\r\n');
      if (connection === 1) await peer.untilGone();
      peer.send(`250 taken on connection ${connection}\r\n`);
    });
    const pool = clients.pool(endpointOf(server.port), { timeouts: { final: 0.5 } });
    const job = (recipient: string): Promise<SmtpResult> =>
      pool.send({
        envelope: { from: '', recipient, size: 3, smtpUtf8: false, eightBit: false },
        message: Buffer.from('x\r\n'),
        hooks: { beforeFinalDot: () => true },
      });
    const [first, second] = await Promise.all([job('a@example.org'), job('b@example.org')]);
    expect(first).toMatchObject({ kind: 'failed', phase: 'final', cause: 'timeout', afterFinalDot: true });
    expect(second).toMatchObject({ kind: 'accepted', reply: { lines: ['taken on connection 2'] } });
  });

  it('that does not reply to QUIT is closed all the same', async () => {
    await start(async (peer) => {
      await peer.greet();
      await peer.expect('QUIT');
    });
    const connection = await clients.ready(endpointOf(server.port), { timeouts: { quit: SOON } });
    await connection.quit();
    expect(connection.isUsable).toBe(false);
  });
});
