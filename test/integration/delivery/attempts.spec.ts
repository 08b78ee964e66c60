import { ShapingSync } from '../../../src/delivery/worker/slots/shaping-sync.job';
import { attemptsOf } from '../../../src/modules/emails/dto/attempt.dto';
import { toDetailDto } from '../../../src/modules/emails/dto/email.mapper';
import { EmailsService } from '../../../src/modules/emails/emails.service';
import { FakeClock } from '../../doubles/fake-clock';
import { ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import { SmtpSink } from '../../doubles/smtp-sink';
import { DeliveryScene } from '../../setup/delivery-scene';

const DIRECT = { DELIVERY_MODE: 'direct', MAIL_HOST: 'mail.waybill.test', ALLOW_PRIVATE_DESTINATIONS: 'true' };
/** Of one attempt's trace in the row, so that the queue's history stays small. */
const MAX_TRACE_BYTES = 150;

describe('the flight recorder', () => {
  let scene: DeliveryScene;
  let sink: SmtpSink;

  beforeAll(async () => {
    scene = await DeliveryScene.open(new FakeClock());
  });
  afterEach(async () => {
    await scene.clear();
    await sink.stop();
    // What was held back is remembered for two seconds, where it was known in time.
    (scene.clock as FakeClock).advance(2_000);
  });
  afterAll(() => scene.close());

  const start = () => scene.startWorker({ hopPort: sink.port, isFinalHop: true, env: DIRECT });
  const live = () => scene.tenant.as('live');
  const attempts = async (id: string) => attemptsOf(await scene.core.get(EmailsService).events(live(), id));
  const waitingOf = async (id: string) =>
    toDetailDto(await scene.core.get(EmailsService).detail(live(), id)).recipients[0]?.waiting;

  it('returns the route, the encryption, the times and the reply of a delivery', async () => {
    sink = await SmtpSink.start({ startTls: 'offer' });
    const id = await scene.accept({ to: ['ada@x.example'] });
    await start();
    await scene.readWhenStatus(id, 'delivered');
    const [only, ...others] = await attempts(id);
    expect(others).toEqual([]);
    expect(only).toMatchObject({
      ...{ recipient: 'ada@x.example', attempt: 1, outcome: 'delivered', durationMs: expect.any(Number) },
      route: { mxHost: '127.0.0.1', address: '127.0.0.1', port: sink.port },
      tls: { version: 'TLSv1.3', cipher: expect.stringMatching(/^TLS_/), verified: false, policy: 'opportunistic' },
      reply: { code: 250, lines: [expect.stringMatching(/^250 /)] },
    });
    const phases = ['connect', 'data', 'dns', 'final', 'greeting', 'mail', 'rcpt', 'tls'];
    expect(Object.keys(only?.phasesMs ?? {}).sort()).toEqual(phases);
    expect(only).not.toHaveProperty('rule');
  });

  it('is written although nothing can be noted of the destination', async () => {
    for (const noting of ['begin', 'end'] as const) {
      jest.spyOn(ShapingSync.prototype, noting).mockImplementation(() => {
        throw new Error('not noted');
      });
    }
    sink = await SmtpSink.start();
    const [id = ''] = await scene.acceptTo('ada');
    await start();
    await scene.readWhenStatus(id, 'delivered');
    expect(await attempts(id)).toMatchObject([{ attempt: 1, outcome: 'delivered' }]);
  });

  it('says why it was no success where the reply alone says yes, and what follows where there was none', async () => {
    sink = await SmtpSink.start();
    const server = await ScriptedSmtpServer.start(async (peer, connection) => {
      await peer.greet(['PIPELINING']);
      if (connection === 1) {
        await peer.until('DATA\r\n');
        peer.send('250 ok\r\n250 ok\r\n250 fine\r\n');
      } else {
        await peer.grantEnvelope();
        await peer.until('\r\n.\r\n');
        peer.send('I took it\r\n');
      }
      await peer.untilGone();
    });
    await scene.startWorker({ hopPort: server.port, isFinalHop: true, env: DIRECT });
    const ids: string[] = [];
    const eventOf = async (type: string) => {
      const [id = ''] = await scene.acceptTo('ada');
      ids.push(id);
      const rows = await scene.readWhen(id, ({ events }) => events.at(-1)?.event_type === type, type);
      return rows.events.at(-1)?.data;
    };
    expect(await eventOf('deferred')).toMatchObject({
      ...{ reason: 'protocol', phase: 'data' },
      response: 'The server does not keep to SMTP: it replied "250 fine" to DATA, where that has no meaning',
    });
    const unknown = await eventOf('unknown');
    expect(unknown).toMatchObject({
      ...{ reason: 'outcome_unknown', detail: 'protocol', phase: 'final' },
      response: 'The server does not keep to SMTP: not a reply line: "I took it"',
      explanation: expect.stringMatching(/tried again with the same Message-ID, and may arrive twice$/) as unknown,
    });
    expect(unknown).not.toHaveProperty('code');
    const [, id = ''] = ids;
    const [attempt] = await attempts(id);
    expect(attempt).toMatchObject({
      ...{ outcome: 'unknown', phase: 'final', failure: unknown?.response, explanation: unknown?.explanation },
    });
    expect(attempt).not.toHaveProperty('reply');
    const [misplaced] = await attempts(ids[0] ?? '');
    expect(misplaced).toMatchObject({ failure: expect.stringContaining('"250 fine" to DATA') as unknown });
    expect(misplaced).not.toHaveProperty('reply');
    const shown = await Promise.all(ids.map((one) => scene.core.get(EmailsService).detail(live(), one)));
    expect(shown.map((one) => toDetailDto(one).recipients[0]?.lastResponse)).toEqual([
      'The server does not keep to SMTP: it replied "250 fine" to DATA, where that has no meaning',
      'The server does not keep to SMTP: not a reply line: "I took it"',
    ]);
    await server.stop();
  });

  it('shows all lines of a refusal, its rule, and why the recipient waits', async () => {
    sink = await SmtpSink.start();
    const [id = ''] = await scene.acceptTo('rcpt-550-rate');
    await start();
    const rows = await scene.readWhen(id, ({ events }) => events.at(-1)?.event_type === 'deferred', 'a deferral');
    const [only] = await attempts(id);
    expect(only).toMatchObject({
      ...{ outcome: 'deferred', reason: 'rate-limited', nextAttemptAt: rows.events.at(-1)?.data.nextAttemptAt },
      rule: { id: 'google-recipient-rate-refused', class: 'rate', action: 'retry' },
    });
    expect(only?.reply).toMatchObject({ code: 550, enhancedCode: '5.2.1' });
    expect(only?.reply?.lines).toHaveLength(3);
    expect(await waitingOf(id)).toMatchObject({
      ...{
        reason: 'retry',
        until: only?.nextAttemptAt,
        detail: expect.stringContaining('attempt 2; the server asks for a slower rate: 550 5.2.1'),
      },
    });
  });

  it('keeps an attempt for every retry, newest first', async () => {
    sink = await SmtpSink.start();
    const [id = ''] = await scene.acceptTo('rcpt-450-greylist');
    const worker = await start();
    await scene.readWhen(id, ({ events }) => events.at(-1)?.event_type === 'deferred', 'a deferral');
    await worker.close();
    (scene.clock as FakeClock).advance(120_000);
    await start();
    await scene.readWhenStatus(id, 'delivered');
    const all = await attempts(id);
    expect(all.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [2, 'delivered'],
      [1, 'deferred'],
    ]);
    expect((all[0]?.startedAt ?? '') > (all[1]?.startedAt ?? '')).toBe(true);
  });

  it('returns a destination that refuses the service, and one whose name has no address', async () => {
    sink = await SmtpSink.start();
    const listed = await scene.accept({ to: ['rcpt-554-blocklist@listed.example'] });
    await start();
    await scene.readWhen(listed, ({ events }) => events.at(-1)?.event_type === 'deferred', 'a deferral');
    expect(await waitingOf(listed)).toMatchObject({ reason: 'destination_paused', until: expect.any(String) });
    expect((await attempts(listed))[0]).toMatchObject({
      rule: { id: 'blocklist', class: 'reputation', action: 'suspend' },
    });
  });

  it('shows for an untried recipient that it is scheduled or waits for its turn, and nothing for an ended one', async () => {
    sink = await SmtpSink.start();
    const due = await scene.accept({});
    const scheduledAt = new Date(scene.clock.now().getTime() + 3_600_000).toISOString();
    const later = await scene.accept({ scheduledAt });
    expect(await waitingOf(due)).toMatchObject({ reason: 'turn', detail: expect.any(String) });
    expect(await waitingOf(later)).toMatchObject({ reason: 'scheduled', until: scheduledAt });
    expect(await attempts(due)).toEqual([]);
    await start();
    await scene.readWhenStatus(due, 'delivered');
    expect(await waitingOf(due)).toBeUndefined();
  });

  it('is small, holds no person and no body, and is written with the outcome', async () => {
    sink = await SmtpSink.start({ startTls: 'offer' });
    const id = await scene.accept({ to: ['ada@x.example'], subject: 'A secret subject', text: 'A secret body' });
    await start();
    await scene.readWhenStatus(id, 'delivered');
    const rows = await scene.db.query<{ type: string; trace: string | null; bytes: number }>(
      `select event_type as type, attempt as trace, pg_column_size(attempt) as bytes
       from email_events where email_id = '${id}'`,
    );
    const traced = rows.filter(({ trace }) => trace !== null);
    expect(traced.map(({ type }) => type)).toEqual(['delivered']);
    expect(traced[0]?.trace).not.toMatch(/ada|secret/);
    expect(traced[0]?.bytes).toBeLessThan(MAX_TRACE_BYTES);
  });
});
