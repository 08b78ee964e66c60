import { AppError } from '../../../src/common/errors/app-error';
import { SmtpSink } from '../../doubles/smtp-sink';
import type { SmtpSinkOptions } from '../../doubles/smtp-sink';
import { ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import { waitFor } from '../../setup/wait-for';
import {
  HELO_NAME,
  HUGE_MESSAGE,
  LARGE_MESSAGE,
  MESSAGE,
  SmtpClients,
  endpointOf,
  envelopeTo,
  send,
} from './smtp-client-kit';

const YES = { beforeFinalDot: (): boolean => true };

describe('a conversation with a friendly server', () => {
  const clients = new SmtpClients();
  let sink: SmtpSink;
  const start = async (options: SmtpSinkOptions = {}): Promise<SmtpSink> => (sink = await SmtpSink.start(options));

  afterEach(async () => {
    clients.destroyAll();
    await sink.stop();
  });

  it('delivers the bytes that it was given', async () => {
    await start();
    const connection = await clients.ready(endpointOf(sink.port));
    expect(await send(connection)).toEqual({
      kind: 'accepted',
      reply: { code: 250, enhancedCode: '2.0.0', lines: ['2.0.0 taken'] },
      hostName: 'mx.sink.test',
      trace: expect.objectContaining({ policy: 'opportunistic' }),
      tls: false,
    });
    expect(sink.messages).toEqual([
      {
        from: 'bounces@example.com',
        parameters: [],
        recipients: ['user@example.org'],
        content: MESSAGE,
        helo: HELO_NAME,
        user: undefined,
        tls: false,
        connection: 1,
      },
    ]);
  });

  it.each([[true], [false]])('carries message after message, PIPELINING %s', async (pipelining) => {
    await start({ pipelining });
    const connection = await clients.ready(endpointOf(sink.port));
    for (const name of ['a', 'b', 'c']) expect(await send(connection, name)).toMatchObject({ kind: 'accepted' });
    expect(sink.messages.map((message) => message.recipients[0])).toEqual([
      'a@example.org',
      'b@example.org',
      'c@example.org',
    ]);
    expect(connection.messageCount).toBe(3);
    await connection.quit();
    expect(sink.commands.filter((line) => !/^(MAIL|RCPT)/.test(line))).toEqual([
      `EHLO ${HELO_NAME}`,
      'DATA',
      'DATA',
      'DATA',
      'QUIT',
    ]);
  });

  it('requests notifications from a relay that offers them, in exactly these words', async () => {
    await start({ dsn: true });
    const connection = await clients.ready(endpointOf(sink.port));
    const asking = envelopeTo('user+tag@example.org', { envelopeId: '0192f3a0-1111-7abc-8def-0123456789ab' });
    await connection.send(asking, MESSAGE, YES);
    await connection.send(envelopeTo('user@example.org'), MESSAGE, YES);
    expect(sink.commands.filter((line) => /^(MAIL|RCPT)/.test(line))).toEqual([
      'MAIL FROM:<bounces@example.com> RET=HDRS ENVID=0192f3a0-1111-7abc-8def-0123456789ab',
      'RCPT TO:<user+tag@example.org> NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;user+2Btag@example.org',
      'MAIL FROM:<bounces@example.com>',
      'RCPT TO:<user@example.org>',
    ]);
  });

  it('writes the envelope at once with PIPELINING, and message and final dot at once', async () => {
    const chunks: string[] = [];
    const server = await ScriptedSmtpServer.start(async (peer) => {
      await peer.greet(['PIPELINING']);
      await peer.line();
      chunks.push(peer.takeBuffered());
      peer.send('250 ok\r\n250 ok\r\n354 go\r\n');
      await peer.line();
      chunks.push(peer.takeBuffered());
      peer.send('250 taken\r\n');
    });
    await start();
    const connection = await clients.ready(endpointOf(server.port));
    expect(await send(connection)).toMatchObject({ kind: 'accepted' });
    expect(chunks).toEqual(['RCPT TO:<user@example.org>\r\nDATA\r\n', '\r\n..starts with a dot\r\nends\r\n.\r\n']);
    await server.stop();
  });

  it('delivers a message larger than any buffer', async () => {
    await start();
    const connection = await clients.ready(endpointOf(sink.port));
    expect(await send(connection, 'user', HUGE_MESSAGE)).toMatchObject({ kind: 'accepted' });
    expect(sink.messages[0]?.content.equals(HUGE_MESSAGE)).toBe(true);
    expect(await send(connection)).toMatchObject({ kind: 'accepted' });
  });

  it.each([
    ['without a line end', 'a\r\nb', 'a\r\nb\r\n'],
    ['of dots', '.\r\n..\r\n...', '.\r\n..\r\n...\r\n'],
    ['that is empty', '', ''],
  ])('delivers a message %s', async (_case, message, expected) => {
    await start();
    const connection = await clients.ready(endpointOf(sink.port));
    expect(await send(connection, 'user', Buffer.from(message))).toMatchObject({ kind: 'accepted' });
    expect(sink.messages[0]?.content.toString()).toBe(expected);
  });

  it('sends HELO where EHLO is not supported, and uses no extensions', async () => {
    await start({ ehlo: false });
    const connection = await clients.ready(endpointOf(sink.port));
    expect(await send(connection)).toMatchObject({ kind: 'accepted' });
    expect(sink.messages[0]).toMatchObject({ helo: HELO_NAME, parameters: [] });
  });

  it('requests the extensions that a message needs', async () => {
    await start({ sizeLimit: 10_000 });
    const connection = await clients.ready(endpointOf(sink.port));
    const recipient = 'b\u00fccher@example.org';
    const envelope = envelopeTo(recipient, { size: 42, smtpUtf8: true, eightBit: true });
    expect(await connection.send(envelope, MESSAGE, YES)).toMatchObject({ kind: 'accepted' });
    expect(sink.messages[0]).toMatchObject({
      recipients: [recipient],
      parameters: ['SIZE=42', 'BODY=8BITMIME', 'SMTPUTF8'],
    });
  });

  it.each([
    ['too large', { sizeLimit: 1_000 }, { size: 1_001 }, { cause: 'too-large', enhancedCode: '5.3.4' }],
    ['SMTPUTF8', { smtpUtf8: false }, { smtpUtf8: true }, { cause: 'unsupported', enhancedCode: '5.6.7' }],
    ['8BITMIME', { eightBitMime: false }, { eightBit: true }, { cause: 'unsupported', enhancedCode: '5.6.3' }],
  ])('refuses by itself what the server cannot take: %s', async (_case, offered, needed, expected) => {
    await start(offered);
    const connection = await clients.ready(endpointOf(sink.port));
    const result = await connection.send(envelopeTo('user@example.org', needed), MESSAGE, YES);
    expect(result).toMatchObject({ kind: 'failed', phase: 'mail', afterFinalDot: false, ...expected });
    expect(sink.commands).toEqual([`EHLO ${HELO_NAME}`]);
    expect(await send(connection)).toMatchObject({ kind: 'accepted' });
  });

  it('refuses unsafe input as a fault of its own, and stays usable', async () => {
    await start();
    const connection = await clients.ready(endpointOf(sink.port));
    const injected = envelopeTo('user@example.org>\r\nRSET\r\nMAIL FROM:<x@example.org');
    await expect(connection.send(injected, MESSAGE, YES)).rejects.toThrow(AppError);
    await expect(send(connection, 'user', Buffer.from('a\n.\nb'))).rejects.toThrow(AppError);
    expect(sink.commands).toEqual([`EHLO ${HELO_NAME}`]);
    expect(await send(connection)).toMatchObject({ kind: 'accepted' });
  });

  it('refuses a second message while one is under way', async () => {
    await start();
    const connection = await clients.ready(endpointOf(sink.port));
    const first = send(connection);
    await expect(send(connection)).rejects.toThrow(AppError);
    expect(await first).toMatchObject({ kind: 'accepted' });
  });

  it('goes on after a reply when its turn has come, and then only', async () => {
    await start();
    const connection = await clients.ready(endpointOf(sink.port));
    const turns: (() => void)[] = [];
    const nextTurn = () => new Promise<void>((resolve) => turns.push(resolve));
    const result = connection.send(envelopeTo('user@example.org'), MESSAGE, { ...YES, nextTurn });
    const given = async () => waitFor(() => turns.shift(), { what: 'a turn asked for' });
    const [atData, ended] = [await given(), jest.fn()];
    void result.then(ended);
    expect(sink.messages).toEqual([]);
    atData();
    const atEnd = await given();
    expect(sink.messages).toHaveLength(1);
    expect(ended).not.toHaveBeenCalled();
    atEnd();
    expect(await result).toMatchObject({ kind: 'accepted' });
    expect(connection.isUsable).toBe(true);
  });

  describe('the hook before the final dot', () => {
    it.each([
      ['small', MESSAGE, 'data'],
      ['large', LARGE_MESSAGE, 'data'],
    ])('stops a %s message', async (_case, message, phase) => {
      await start();
      const connection = await clients.ready(endpointOf(sink.port));
      const result = await connection.send(envelopeTo('user@example.org'), message, { beforeFinalDot: () => false });
      expect(result).toMatchObject({ kind: 'failed', phase, cause: 'aborted', afterFinalDot: false });
      expect(connection.isUsable).toBe(false);
      await sink.waitFor(() => sink.openConnections === 0);
      expect(sink.messages).toEqual([]);
    });

    it.each([
      ['small', MESSAGE],
      ['large', LARGE_MESSAGE],
    ])('is called once, before the dot of a %s message', async (_case, message) => {
      let received = '';
      const server = await ScriptedSmtpServer.start(async (peer) => {
        await peer.greet(['PIPELINING']);
        await peer.grantEnvelope();
        await peer.until('\r\n.\r\n');
        peer.send('250 taken\r\n');
      });
      await start();
      const asked = jest.fn(() => {
        received = server.received;
        return true;
      });
      const connection = await clients.ready(endpointOf(server.port));
      const result = await connection.send(envelopeTo('user@example.org'), message, { beforeFinalDot: asked });
      expect(result).toMatchObject({ kind: 'accepted' });
      expect(asked).toHaveBeenCalledTimes(1);
      expect(received).toContain('DATA\r\n');
      expect(received).not.toContain('\r\n.\r\n');
      await server.stop();
    });

    it('that throws leaves no usable connection', async () => {
      await start();
      const connection = await clients.ready(endpointOf(sink.port));
      const hooks = {
        beforeFinalDot: (): boolean => {
          throw new Error('lease lost');
        },
      };
      await expect(connection.send(envelopeTo('user@example.org'), MESSAGE, hooks)).rejects.toThrow('lease lost');
      expect(connection.isUsable).toBe(false);
      await sink.waitFor(() => sink.openConnections === 0);
      expect(sink.messages).toEqual([]);
    });
  });
});
