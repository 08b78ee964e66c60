import { HOUR } from '../../../src/common/clock';
import { Metrics } from '../../../src/common/metrics/metrics';
import { RestrictionsService } from '../../../src/modules/domains/restrictions/restrictions.service';
import { FakeClock } from '../../doubles/fake-clock';
import { SmtpSink } from '../../doubles/smtp-sink';
import { DeliveryScene } from '../../setup/delivery-scene';

describe('queued mail of a paused domain', () => {
  let clock: FakeClock;
  let scene: DeliveryScene;
  let sink: SmtpSink;

  beforeAll(async () => {
    clock = new FakeClock();
    [scene, sink] = await Promise.all([DeliveryScene.open(clock), SmtpSink.start()]);
  });
  afterAll(async () => {
    await scene.close();
    await sink.stop();
  });

  it('is held for an hour at a time, and delivered after the resumption', async () => {
    const changes = scene.core.get(RestrictionsService);
    const { domainId } = scene.tenant;
    const [live = '', test = ''] = [await scene.accept(), await scene.accept({}, 'test')];
    // Before the hour is over: mail that is due again would have its turn to blame, whichever job is first.
    const expiresAt = new Date(clock.now().getTime() + HOUR / 2).toISOString();
    const short = await scene.accept({ expiresAt });
    await changes.pauseByOperator(domainId, 'phishing');
    const first = await scene.startWorker({ hopPort: sink.port });
    await scene.readWhen(short, ({ events }) => events.some(isDeferral), 'the short one to be deferred');
    const held = await scene.readWhen(live, ({ events }) => events.some(isDeferral), 'the email to be deferred');
    expect(held.events.at(-1)).toMatchObject({
      event_type: 'deferred',
      data: { reason: 'sending paused', explanation: WHY },
    });
    expect(held.deliveries).toMatchObject([{ attempt: 0, state: 'waiting' }]);
    const waitMs = (held.deliveries[0]?.due_at as Date).getTime() - clock.now().getTime();
    expect(waitMs).toBeGreaterThan(HOUR / 2);
    expect(waitMs).toBeLessThan(2 * HOUR);
    await scene.readWhenStatus(test, 'delivered');
    const metrics = await first.get(Metrics).registry.metrics();
    expect(metrics).toContain('waybill_domains_restricted{status="paused"} 1');
    await first.close();
    expect(sink.messages).toHaveLength(0);

    clock.advance(HOUR / 2);
    const second = await scene.startWorker({ hopPort: sink.port });
    const expired = await scene.readWhenStatus(short, 'failed');
    expect(expired.events.at(-1)?.data).toMatchObject({
      reason: 'expired',
      explanation: expect.stringMatching(/no attempt could begin; the last result was: Sending from .*: phishing$/),
    });
    await second.close();

    await changes.resumeByOperator(domainId);
    clock.advance(2 * HOUR);
    await scene.startWorker({ hopPort: sink.port });
    const sent = await scene.readWhenStatus(live, 'sent');
    expect(sent.recipients).toMatchObject([{ attempts: 1 }]);
    expect(sent.events.filter(({ event_type }) => event_type === 'bounced')).toEqual([]);
  });
});

const WHY = expect.stringMatching(
  /^Sending from acme\.example is paused since 20\S+Z: by the operator of this service: phishing$/,
);
const isDeferral = ({ event_type }: Record<string, unknown>): boolean => event_type === 'deferred';
