import { newId } from '../../../src/common/ids';
import { Metrics } from '../../../src/common/metrics/metrics';
import { EventsService } from '../../../src/modules/events/events.service';
import { WebhookSecrets } from '../../../src/modules/webhooks/endpoints/webhook-secrets.service';
import { SmtpSink } from '../../doubles/smtp-sink';
import { WebhookReceiver } from '../../doubles/webhook-receiver';
import { DeliveryScene } from '../../setup/delivery-scene';
import { waitFor } from '../../setup/wait-for';

describe('a worker', () => {
  it('sends mail and webhooks for all of its events, and stops while a receiver hangs', async () => {
    const [scene, sink, receiver] = await Promise.all([
      DeliveryScene.open(),
      SmtpSink.start(),
      WebhookReceiver.start(),
    ]);
    const env = { WEBHOOK_ALLOW_PRIVATE: 'true', DRAIN_SECONDS: '1' };
    const worker = await scene.startWorker({ hopPort: sink.port, isFinalHop: true, env });
    const { organizationId } = scene.tenant;
    const id = newId();
    const secret = worker.get(WebhookSecrets).encrypt(Buffer.alloc(32), { organizationId, mode: 'live', id });
    await scene.db.query(
      `insert into webhook_endpoints (
         organization_id, mode, id, url, events, enabled, secret, position, created_at, updated_at
       ) values ($1, 'live', $2, $3, '{*}', true, $4, $5, now(), now())`,
      [organizationId, id, receiver.url(), secret, await worker.get(EventsService).head()],
    );
    const emailId = await scene.accept();
    const types = () => receiver.events().map(({ eventType }) => eventType as string);
    await waitFor(() => types().includes('delivered'), { what: 'the delivery to be told' });
    const { events } = await scene.read(emailId);
    expect(types()).toEqual(events.map(({ event_type }) => event_type as string));
    const metrics = () => worker.get(Metrics).registry.metrics();
    // A receiver has a webhook before the worker has read its response.
    const counted = `waybill_webhook_attempts_total{result="delivered"} ${events.length}`;
    await waitFor(async () => (await metrics()).includes(counted), { what: 'the responses to be counted' });
    expect(await metrics()).toContain('waybill_webhook_endpoints{state="enabled"} 1');

    receiver.answer = () => 'hang';
    await scene.accept();
    await waitFor(() => receiver.received.length > events.length, { what: 'the receiver to hang' });
    await worker.close();
    const left = await scene.db.query(`select distinct state from webhook_messages where state <> 'delivered'`);
    expect(left).toEqual([{ state: 'pending' }]);
    await Promise.all([scene.close(), sink.stop(), receiver.stop()]);
  });
});
