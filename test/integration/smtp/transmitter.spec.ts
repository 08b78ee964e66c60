import { BUILT_IN_CLASSIFIER, type ReplyClassifier } from '../../../src/delivery/policy/replies/classify-reply';
import { MINUTE } from '../../../src/common/clock';
import { Conversation } from '../../../src/delivery/smtp/conversation/smtp-connection';
import {
  releaseSignalOf,
  resolveOutcome,
  type TransmissionResult,
} from '../../../src/delivery/policy/transmission-result';
import { SmtpTransmitter } from '../../../src/delivery/worker/attempts/smtp-transmitter';
import { FakeClock } from '../../doubles/fake-clock';
import { PortRouter } from '../../doubles/port-router';
import { type SmtpScript, ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import { testConfig } from '../../setup/core-context';
import { waitFor } from '../../setup/wait-for';
import { claimOf } from '../../setup/recipient-copies';
import { MESSAGE } from './smtp-client-kit';

const HOSTS = Array.from({ length: 8 }, (_, n) => ({ hostName: `mx${n}.x.example`, addresses: ['127.0.0.1'] }));

const configOf = (env: Record<string, string> = {}) =>
  testConfig({ DELIVERY_MODE: 'direct', MAIL_HOST: 'mail.example.org', ...env });
const FACTS = { attempt: 1, refusals: 0, firstDueAt: new Date(), expiresAt: null, now: new Date(), random: () => 0.5 };
const SIGNED = { bytes: MESSAGE, returnPath: 'b@example.org', smtpUtf8: false, eightBit: false };

async function hostsAt(port: number) {
  const router = new PortRouter(() => ({ port, hosts: HOSTS }));
  const hosts = await router.resolve('x.example');
  if (hosts.kind !== 'hosts') throw new Error('no hosts');
  return { router, target: { hosts, first: 'mx0.x.example' } };
}

describe('an attempt at several hosts', () => {
  let clock: FakeClock;
  let transmitter: SmtpTransmitter;

  /** Every host hangs up on every client; `ms` passes meanwhile. */
  async function attempt(ms: number): Promise<number> {
    clock = new FakeClock();
    const server = await ScriptedSmtpServer.start((peer) => {
      clock.advance(ms);
      peer.close();
      return Promise.resolve();
    });
    const { router, target } = await hostsAt(server.port);
    transmitter = new SmtpTransmitter(router, configOf(), clock, BUILT_IN_CLASSIFIER);
    const result = await transmitter.transmit(claimOf(0), SIGNED, target, () => true);
    expect(result).toMatchObject({ kind: 'failed', cause: 'closed' });
    transmitter.destroy();
    await server.stop();
    return server.connectionCount;
  }

  it('tries a few', async () => {
    expect(await attempt(0)).toBe(4);
  });

  it('tries no other once the first have taken long', async () => {
    expect(await attempt(MINUTE / 2 + 1)).toBe(2);
  });

  it('begins with a host that is not known to be dead', async () => {
    await attempt(0);
    const { target } = await hostsAt(1);
    expect(transmitter.firstHosts(target.hosts)).toEqual(['mx0.x.example']);
  });
});

describe('an error of this service', () => {
  it.each([
    ['once the message is out', 'final', { kind: 'unknown', reason: 'internal' }],
    ['before', 'rcpt', undefined],
  ])('%s', async (_when, phase, outcome) => {
    const server = await ScriptedSmtpServer.start(async (peer) => {
      await peer.greet(['PIPELINING']);
      if (phase === 'final') {
        await peer.grantEnvelope();
        await peer.until('\r\n.\r\n');
        return void peer.send('550 no\r\n');
      }
      await peer.until('DATA\r\n');
      peer.send('250 ok\r\n550 no\r\n503 no\r\n');
      await peer.expect('RSET');
      peer.send('250 ok\r\n');
    });
    const { router, target } = await hostsAt(server.port);
    const classifier = { classify: () => { throw new Error('not read'); } } as unknown as ReplyClassifier; // prettier-ignore
    const transmitter = new SmtpTransmitter(router, configOf(), new FakeClock(), classifier);
    const sent = transmitter.transmit(claimOf(0), SIGNED, target, () => true);
    if (outcome) {
      const result = (await sent) as TransmissionResult;
      expect(resolveOutcome(result, FACTS)).toMatchObject(outcome);
      expect(releaseSignalOf(result)).toBe('neutral');
    } else await expect(sent).rejects.toThrow('not read');
    transmitter.destroy();
    await server.stop();
  });
});

describe('an attempt whose slot others need', () => {
  let server: ScriptedSmtpServer;
  let transmitter: SmtpTransmitter;

  afterEach(async () => {
    transmitter.destroy();
    await server.stop();
  });

  async function begin(script: SmtpScript, env: Record<string, string> = {}) {
    server = await ScriptedSmtpServer.start(script);
    const { router, target } = await hostsAt(server.port);
    transmitter = new SmtpTransmitter(router, configOf(env), new FakeClock(), BUILT_IN_CLASSIFIER);
    const conversation = new Conversation();
    const sent = transmitter.transmit(claimOf(0), SIGNED, { ...target, conversation }, () => true);
    return { conversation, sent, transmitter, hosts: target.hosts };
  }

  it.each<[string, SmtpScript]>([
    ['its banner', (peer) => peer.untilGone()],
    [
      'the reply to RCPT',
      async (peer) => {
        await peer.greet();
        await peer.expect('MAIL');
        peer.send('250 ok\r\n');
        await peer.expect('RCPT');
        await peer.untilGone();
      },
    ],
  ])('ends while the server owes %s, tries no other host and holds nothing against this one', async (_what, script) => {
    const { conversation, sent, hosts } = await begin(script);
    await waitFor(() => conversation.silentMs > 0 && server.connectionCount === 1, { what: 'the silence' });
    conversation.cutShort();
    const result = await sent;
    expect(result).toMatchObject({ kind: 'failed', cause: 'cut-short', afterFinalDot: false });
    expect(releaseSignalOf(result as TransmissionResult)).toBe('neutral');
    expect(resolveOutcome(result as TransmissionResult, FACTS)).toMatchObject({ kind: 'deferred', reason: 'timeout' });
    expect(server.connectionCount).toBe(1);
    expect(conversation.silentMs).toBe(0);
    expect(transmitter.firstHosts(hosts)).toEqual(['mx0.x.example']);
  });

  it('keeps its host from being the first of another one, as long as it has no other connection', async () => {
    const { sent, transmitter, hosts } = await begin((peer) => peer.untilGone(), { CONNECTIONS_PER_HOST: '1' });
    await waitFor(() => server.connectionCount === 1, { what: 'the connection' });
    expect(transmitter.firstHosts(hosts)).toEqual([]);
    const alike = { ...hosts, hosts: hosts.hosts.map((host) => ({ ...host, preference: 10 })) };
    expect(transmitter.firstHosts(alike)).toEqual(HOSTS.slice(1).map(({ hostName }) => hostName));
    transmitter.destroy();
    expect(await sent).toMatchObject({ kind: 'failed', cause: 'aborted' });
    expect(transmitter.firstHosts(hosts)).toEqual(['mx0.x.example']);
  });

  it('is left alone once its final dot is out', async () => {
    const answers: (() => void)[] = [];
    const { conversation, sent } = await begin(async (peer) => {
      await peer.greet(['PIPELINING']);
      await peer.grantEnvelope();
      await peer.until('\r\n.\r\n');
      answers.push(() => peer.send('250 taken\r\n'));
      await peer.untilGone();
    });
    await waitFor(() => answers.length > 0, { what: 'the final dot' });
    expect(conversation.silentMs).toBe(0);
    answers[0]?.();
    expect(await sent).toMatchObject({ kind: 'accepted' });
  });
});

describe('of several hosts', () => {
  const UP = { hostName: 'up.x.example', addresses: ['127.0.0.1'] };
  const OTHER = { ...UP, hostName: 'other.x.example' };
  /** Nothing listens there. */
  const DOWN = { hostName: 'down.x.example', addresses: ['127.0.0.77'] };

  async function attempt(script: SmtpScript, hosts: readonly (typeof UP)[]) {
    const server = await ScriptedSmtpServer.start(script);
    const router = new PortRouter(() => ({ port: server.port, hosts }));
    const route = await router.resolve('x.example');
    if (route.kind !== 'hosts') throw new Error('no hosts');
    const transmitter = new SmtpTransmitter(router, configOf(), new FakeClock(), BUILT_IN_CLASSIFIER);
    const target = { hosts: route, first: hosts[0]?.hostName ?? '' };
    const result = (await transmitter.transmit(claimOf(0), SIGNED, target, () => true)) as TransmissionResult;
    transmitter.destroy();
    await server.stop();
    return { result, outcome: resolveOutcome(result, FACTS) };
  }

  const small: SmtpScript = async (peer) => {
    await peer.greet(['SIZE 10']);
    await peer.untilGone();
  };
  const listed: SmtpScript = (peer) => {
    peer.send('554 5.7.1 Service unavailable; Client host blocked using zen.spamhaus.org\r\n');
    peer.close();
    return Promise.resolve();
  };

  it.each([[[DOWN, UP]], [[UP, DOWN]]])('a message too large for one waits for the silent one: %j', async (hosts) => {
    const { outcome } = await attempt(small, hosts);
    expect(outcome).toMatchObject({ kind: 'deferred', reason: 'too-large', smtp: { enhancedCode: '4.3.4' } });
  });

  it('a message too large for all bounces, however many they are', async () => {
    expect((await attempt(small, [UP, OTHER])).outcome).toMatchObject({ kind: 'bounced', reason: 'too-large' });
    expect((await attempt(small, HOSTS.slice(0, 5))).outcome).toMatchObject({ kind: 'bounced', reason: 'too-large' });
  });

  it.each([[[UP, DOWN]], [[DOWN, UP]]])(
    'the reply of one counts before the silence of the other: %j',
    async (hosts) => {
      const { result } = await attempt(listed, hosts);
      expect(result).toMatchObject({ kind: 'rejected', smtp: { code: 554, mxHost: 'up.x.example' } });
      expect(releaseSignalOf(result)).toBe('suspended');
    },
  );

  it('the reply of one counts before what another offers', async () => {
    let count = 0;
    const first: SmtpScript = (peer, connection) => ((count += 1) === 1 ? listed : small)(peer, connection);
    expect((await attempt(first, [UP, OTHER])).result).toMatchObject({ kind: 'rejected', smtp: { code: 554 } });
  });
});
