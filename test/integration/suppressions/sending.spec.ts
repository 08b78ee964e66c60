import { DAY } from '../../../src/common/clock';
import { SuppressionListService } from '../../../src/modules/suppressions/suppression-list.service';
import { SmtpSink } from '../../doubles/smtp-sink';
import { sendBody } from '../../factories/send-requests';
import { addDomain, addSuppression } from '../../factories/tenants';
import { DeliveryScene } from '../../setup/delivery-scene';
import { DomainsApp, type Owner } from '../domains/domains-app';

describe('an address on the list', () => {
  let app: DomainsApp;
  let acme: Owner;
  beforeAll(async () => {
    app = await DomainsApp.start();
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    acme = await app.owner();
    await addDomain(app.db, acme.organizationId, { isDefault: true });
  });

  const send = (fields: Record<string, unknown>) => acme.api.post('/v1/emails', sendBody(fields));
  const suppress = async (email: string, reason: string) =>
    expect((await acme.api.post('/v1/suppressions', { email, reason })).status).toBe(201);

  it('is left out of a mail to several, and told', async () => {
    await suppress('ada@x.example', 'manual');
    const { status, body } = await send({ to: ['ADA@x.example', 'b@x.example'] });
    expect(status).toBe(202);
    expect(body.data).toEqual({
      id: expect.any(String),
      status: 'queued',
      warnings: [expect.any(String)],
      suppressedRecipients: [{ email: 'ADA@x.example', reason: 'manual' }],
    });
    const queued = await app.db.query('select recipient from deliveries where email_id = $1', [body.data.id]);
    expect(queued).toEqual([{ recipient: 'b@x.example' }]);
  });

  it('is refused alone, until it is taken off', async () => {
    await suppress('ada@x.example', 'manual');
    const { status, body } = await send({ to: ['ada@x.example'] });
    expect([status, body.error.code]).toEqual([422, 'recipient_suppressed']);
    expect(body.error.details).toEqual({ suppressedRecipients: [{ email: 'ada@x.example', reason: 'manual' }] });
    await acme.api.delete('/v1/suppressions/ada@x.example');
    expect((await send({ to: ['ada@x.example'] })).status).toBe(202);
  });

  it('gets transactional mail when it only unsubscribed', async () => {
    await suppress('ada@x.example', 'unsubscribe');
    expect((await send({ to: ['ada@x.example'], category: 'bulk' })).status).toBe(422);
    expect((await send({ to: ['ada@x.example'] })).status).toBe(202);
  });

  it('is sent to again once the entry has expired', async () => {
    const expiresAt = new Date(app.clock.now().getTime() + DAY);
    const fields = { email: 'ada@x.example', reason: 'soft_bounce', expiresAt };
    await addSuppression(app.db, { organizationId: acme.organizationId } as never, fields);
    expect((await send({ to: ['ada@x.example'] })).status).toBe(422);
    app.clock.advance(DAY);
    expect((await send({ to: ['ada@x.example'] })).status).toBe(202);
  });
});

describe('an address that is listed after its mail was accepted', () => {
  let scene: DeliveryScene;
  let sink: SmtpSink;
  beforeAll(async () => {
    scene = await DeliveryScene.open();
    sink = await SmtpSink.start();
  });
  afterAll(async () => {
    await scene.close();
    await sink.stop();
  });

  it('is blocked when the mail is about to be sent', async () => {
    const id = await scene.accept({ to: ['ada@x.example', 'b@x.example'] });
    const entry = { email: 'Ada@x.example', reason: 'manual' } as const;
    await scene.core.get(SuppressionListService).add(scene.tenant.as('live'), entry);
    await scene.startWorker({ hopPort: sink.port });
    const rows = await scene.readWhenStatus(id, 'sent');
    const statuses = rows.recipients.map(({ address, status }) => [address, status]);
    expect(statuses).toEqual([
      ['ada@x.example', 'failed'],
      ['b@x.example', 'sent'],
    ]);
    expect(rows.events.find(({ event_type }) => event_type === 'blocked')?.data).toMatchObject({
      recipient: 'ada@x.example',
      detail: 'manual',
    });
    expect(sink.messages.flatMap(({ recipients }) => recipients)).toEqual(['b@x.example']);
  });
});
