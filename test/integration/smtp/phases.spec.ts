import { toSmtpFacts } from '../../../src/delivery/smtp/conversation/smtp-result';
import type { SmtpResult } from '../../../src/delivery/smtp/conversation/smtp-result';
import { SmtpSink } from '../../doubles/smtp-sink';
import { waitFor } from '../../setup/wait-for';
import { HELO_NAME, HUGE_MESSAGE, SOON, SmtpClients, endpointOf, envelopeTo, send } from './smtp-client-kit';

/** A reset that comes together with data reads as a regular end. */
const ENDED = expect.stringMatching(/^(closed|reset)$/) as unknown;

describe('the phase is known', () => {
  const clients = new SmtpClients();
  let sink: SmtpSink;

  afterEach(async () => {
    clients.destroyAll();
    await sink.stop();
  });

  describe.each([[true], [false]])('of a refusal, PIPELINING %s', (pipelining) => {
    beforeEach(async () => {
      sink = await SmtpSink.start({ pipelining });
    });

    /** Without pipelining the sink sees the recipient too late for MAIL, so the sender selects the reply as well. */
    async function refuse(localPart: string): Promise<{ result: SmtpResult; after: SmtpResult | undefined }> {
      const connection = await clients.ready(endpointOf(sink.port));
      const from = localPart.startsWith('mail') ? `${localPart}@example.com` : 'bounces@example.com';
      const envelope = envelopeTo(`${localPart}@example.org`, { from });
      const result = await connection.send(envelope, HUGE_MESSAGE.subarray(0, 7_200), { beforeFinalDot: () => true });
      await connection.whenReady();
      return { result, after: connection.isUsable ? await send(connection, 'next') : undefined };
    }

    it.each([
      ['mail-451', 'mail', 451, undefined],
      ['mail-550-5.7.1', 'mail', 550, '5.7.1'],
      ['rcpt-450-4.2.0', 'rcpt', 450, '4.2.0'],
      ['rcpt-550-5.1.1', 'rcpt', 550, '5.1.1'],
      ['rcpt-552-5.2.2', 'rcpt', 552, '5.2.2'],
      ['data-451', 'data', 451, undefined],
      ['data-554-5.5.1', 'data', 554, '5.5.1'],
      ['dot-451', 'final', 451, undefined],
      ['dot-550-5.7.1', 'final', 550, '5.7.1'],
    ])('%s, and the connection goes on', async (localPart, phase, code, enhancedCode) => {
      const { result, after } = await refuse(localPart);
      expect(result).toMatchObject({ kind: 'rejected', phase, reply: { code } });
      expect(toSmtpFacts(result).enhancedCode).toBe(enhancedCode);
      expect(after).toMatchObject({ kind: 'accepted' });
      expect(sink.messages.map((message) => message.recipients)).toEqual([['next@example.org']]);
      expect(sink.connectionCount).toBe(1);
    });

    it.each([
      ['mail-421', 'mail'],
      ['rcpt-421-4.7.0', 'rcpt'],
      ['data-421', 'data'],
      ['dot-421', 'final'],
    ])('%s, and the connection is closed', async (localPart, phase) => {
      const { result, after } = await refuse(localPart);
      expect(result).toMatchObject({ kind: 'rejected', phase, reply: { code: 421 } });
      expect(after).toBeUndefined();
      await sink.waitFor(() => sink.openConnections === 0);
      expect(sink.messages).toEqual([]);
    });

    it('greylisting lets the second attempt through', async () => {
      const first = await refuse('rcpt-450-greylist');
      expect(first.result).toMatchObject({ kind: 'rejected', phase: 'rcpt', reply: { code: 450 } });
      const second = await refuse('rcpt-450-greylist');
      expect(second.result).toMatchObject({ kind: 'accepted' });
    });
  });

  it('leaves a refused transaction by RSET, and by a lone dot where DATA was granted all the same', async () => {
    sink = await SmtpSink.start({ dataWithoutRecipients: true });
    const connection = await clients.ready(endpointOf(sink.port));
    expect(await send(connection, 'rcpt-550-5.1.1')).toMatchObject({ kind: 'rejected', phase: 'rcpt' });
    expect(await send(connection, 'next')).toMatchObject({ kind: 'accepted' });
    expect(sink.messages.map((message) => message.recipients)).toEqual([['next@example.org']]);
    expect(sink.commands).toEqual([
      `EHLO ${HELO_NAME}`,
      'MAIL FROM:<bounces@example.com>',
      'RCPT TO:<rcpt-550-5.1.1@example.org>',
      'DATA',
      'RSET',
      'MAIL FROM:<bounces@example.com>',
      'RCPT TO:<next@example.org>',
      'DATA',
    ]);
  });

  describe.each([[true], [false]])('of a broken connection, PIPELINING %s', (pipelining) => {
    beforeEach(async () => {
      sink = await SmtpSink.start({ pipelining });
    });

    it.each([
      ['at-rcpt', 'rcpt', false],
      ['at-data', 'data', false],
      ['after-dot', 'final', true],
    ])('%s', async (where, phase, afterFinalDot) => {
      const timeouts = { [phase]: SOON };
      for (const [how, cause] of [
        ['close', ENDED],
        ['reset', ENDED],
        ['hang', 'timeout'],
      ] as const) {
        const connection = await clients.ready(endpointOf(sink.port), how === 'hang' ? { timeouts } : {});
        const result = await send(connection, `${how}-${where}`);
        expect(result).toMatchObject({ kind: 'failed', phase, cause, afterFinalDot, hostName: 'mx.sink.test' });
        expect(connection.isUsable).toBe(false);
      }
      expect(sink.messages).toEqual([]);
      expect(sink.unanswered).toHaveLength(afterFinalDot ? 3 : 0);
    });
  });

  it.each([['close-in-data'], ['reset-in-data'], ['hang-in-data']])('of a large message: %s', async (localPart) => {
    sink = await SmtpSink.start();
    const timeouts = localPart.startsWith('hang') ? { block: SOON } : {};
    const connection = await clients.ready(endpointOf(sink.port), { timeouts });
    const result = await send(connection, localPart, HUGE_MESSAGE);
    const cause = localPart.startsWith('hang') ? 'timeout' : ENDED;
    expect(result).toMatchObject({ kind: 'failed', phase: 'data', cause, afterFinalDot: false });
  });

  it('of a small message that may have arrived as a whole', async () => {
    sink = await SmtpSink.start();
    const connection = await clients.ready(endpointOf(sink.port));
    const result = await send(connection, 'close-in-data');
    expect(result).toMatchObject({ kind: 'failed', phase: 'final', cause: ENDED, afterFinalDot: true });
  });

  it.each([['250-then-rst'], ['250-then-close']])('%s counts as accepted', async (localPart) => {
    sink = await SmtpSink.start();
    const connection = await clients.ready(endpointOf(sink.port));
    expect(await send(connection, localPart)).toMatchObject({ kind: 'accepted' });
    await sink.waitFor(() => sink.openConnections === 0);
    expect(sink.messages).toHaveLength(1);
    // The connection is noticed to be gone at the latest with the next message.
    expect(await send(connection, 'next')).toMatchObject({ kind: 'failed', phase: 'mail', afterFinalDot: false });
  });

  it('slow replies are waited for', async () => {
    sink = await SmtpSink.start();
    const connection = await clients.ready(endpointOf(sink.port));
    expect(await send(connection, 'slow-5')).toMatchObject({ kind: 'accepted' });
    expect(await send(connection, '250-late-5')).toMatchObject({ kind: 'accepted' });
  });

  it('of the whole attempt running out', async () => {
    sink = await SmtpSink.start();
    const connection = await clients.ready(endpointOf(sink.port), { timeouts: { attempt: 1 } });
    const result = await send(connection, 'hang-at-rcpt');
    expect(result).toMatchObject({ kind: 'failed', phase: 'rcpt', cause: 'timeout' });
  });

  it('the end of the attempt does not cut the wait for the reply to the final dot', async () => {
    sink = await SmtpSink.start();
    const connection = await clients.ready(endpointOf(sink.port), { timeouts: { attempt: 1 } });
    const sending = send(connection, '250-held');
    const ended = waitFor(() => connection.waitingMs > 1_100, { what: 'the end of the attempt' });
    await Promise.race([ended, sending]);
    sink.release();
    expect(await sending).toMatchObject({ kind: 'accepted' });
  });

  it('of being destroyed', async () => {
    sink = await SmtpSink.start();
    const connection = await clients.ready(endpointOf(sink.port));
    const sending = send(connection, 'hang-after-dot');
    await sink.waitFor(() => sink.unanswered.length === 1);
    connection.destroy();
    expect(await sending).toMatchObject({ kind: 'failed', phase: 'final', cause: 'aborted', afterFinalDot: true });
  });
});
