import type { SmtpRefusal } from '../../../src/delivery/smtp/conversation/smtp-result';
import type { SmtpTimeouts } from '../../../src/delivery/smtp/conversation/smtp-timeouts';
import { ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import type { SmtpScript } from '../../doubles/scripted-smtp-server';
import { SmtpSink } from '../../doubles/smtp-sink';
import { SOON, SmtpClients, endpointOf } from './smtp-client-kit';

describe('a connection that cannot be opened', () => {
  const clients = new SmtpClients();
  let sink: SmtpSink | undefined;

  afterEach(async () => {
    clients.destroyAll();
    await sink?.stop();
  });

  it('refused', async () => {
    sink = await SmtpSink.start();
    const { port } = sink;
    await sink.stop();
    expect(await clients.refusal(endpointOf(port))).toMatchObject({
      kind: 'failed',
      phase: 'connect',
      cause: 'refused',
    });
  });

  it('no such host', async () => {
    const refusal = await clients.refusal(endpointOf(25, { address: 'no-such-host.invalid' }));
    expect(refusal).toMatchObject({ kind: 'failed', phase: 'connect', cause: 'unreachable' });
  });

  it('an impossible port is a fault of this side', async () => {
    await expect(clients.connection(endpointOf(70_000)).open()).rejects.toThrow(/port/i);
  });

  it.each([
    ['554 5.7.1 go away', 554],
    ['421 4.7.0 busy', 421],
    ['450 later', 450],
  ])('banner %s', async (banner, code) => {
    sink = await SmtpSink.start({ banner });
    const refusal = await clients.refusal(endpointOf(sink.port));
    expect(refusal).toMatchObject({ kind: 'rejected', phase: 'greeting', reply: { code } });
    expect(sink.commands).toEqual([]);
  });

  async function play(script: SmtpScript, timeouts: Partial<SmtpTimeouts> = {}): Promise<SmtpRefusal | undefined> {
    const server = await ScriptedSmtpServer.start(script);
    const refusal = await clients.refusal(endpointOf(server.port), { timeouts });
    await server.stop();
    return refusal;
  }

  it('no banner', async () => {
    sink = await SmtpSink.start({ banner: '' });
    const refusal = await clients.refusal(endpointOf(sink.port), { timeouts: { greeting: SOON } });
    expect(refusal).toMatchObject({
      kind: 'failed',
      phase: 'greeting',
      cause: 'timeout',
    });
  });

  it('a banner that drips is not waited for longer', async () => {
    const drip = await play(async (peer) => {
      while (!peer.clientIsGone) await peer.sendPieces(['220-wait\r\n']);
    });
    expect(drip).toMatchObject({ kind: 'failed', phase: 'greeting' });
  });

  it('closed before the banner', async () => {
    const closed = await play((peer) => Promise.resolve(peer.close()));
    expect(closed).toMatchObject({ kind: 'failed', phase: 'greeting', cause: 'closed' });
  });

  it.each([
    ['421 busy', { kind: 'rejected', phase: 'greeting', reply: { code: 421 } }],
    ['451 later', { kind: 'rejected', phase: 'greeting', reply: { code: 451 } }],
    ['354 what', { kind: 'failed', phase: 'greeting', cause: 'protocol' }],
  ])('EHLO with the reply %s', async (line, expected) => {
    const refusal = await play(async (peer) => {
      peer.send('220 hi\r\n');
      await peer.expect('EHLO');
      peer.send(`${line}\r\n`);
    });
    expect(refusal).toMatchObject(expected);
  });

  it.each([
    ['refuses HELO as well', '550 5.7.1 no\r\n', 'HELO'],
    ['hangs up after refusing EHLO', undefined, 'EHLO'],
  ])('a server that %s', async (_case, second, lastCommand) => {
    const refusal = await play(async (peer) => {
      peer.send('220 hi\r\n');
      await peer.expect('EHLO');
      peer.send(`550 5.7.1 no ${lastCommand}\r\n`);
      if (second === undefined) return peer.close();
      await peer.expect('HELO');
      peer.send(second);
    });
    expect(refusal).toMatchObject({ kind: 'rejected', phase: 'greeting', reply: { code: 550, enhancedCode: '5.7.1' } });
  });
});
