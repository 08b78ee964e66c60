import { FakeClock } from '../../doubles/fake-clock';
import { SmtpSink } from '../../doubles/smtp-sink';
import { readCounters, type StoredEmail } from '../../factories/stored-email';
import { DeliveryScene } from '../../setup/delivery-scene';

const eventTypes = ({ events }: StoredEmail) => events.map(({ event_type }) => event_type);
const lastData = ({ events }: StoredEmail) => events.at(-1)?.data;

const DIRECT = { DELIVERY_MODE: 'direct', MAIL_HOST: 'mail.waybill.test', ALLOW_PRIVATE_DESTINATIONS: 'true' };

describe('a refusal', () => {
  let scene: DeliveryScene;
  let sink: SmtpSink;

  beforeAll(async () => {
    scene = await DeliveryScene.open(new FakeClock());
  });
  beforeEach(async () => {
    sink = await SmtpSink.start();
  });
  afterEach(async () => {
    await scene.clear();
    await sink.stop();
  });
  afterAll(() => scene.close());

  /** In direct mode, where each destination is shaped by itself. */
  const start = () => scene.startWorker({ hopPort: sink.port, isFinalHop: true, env: DIRECT });
  const suppressions = () => scene.db.query('select email, reason from suppressions');
  const deferral = (id: string) =>
    scene.readWhen(id, (rows) => eventTypes(rows).includes('deferred'), 'a deferral of the mail');

  it('for the rate of mail to a mailbox, which only the first line names, is tried again and suppresses no recipient', async () => {
    const [id = ''] = await scene.acceptTo('rcpt-550-rate');
    await start();
    expect(lastData(await deferral(id))).toMatchObject({
      ...{ reason: 'rate-limited', class: 'rate', ruleId: 'google-recipient-rate-refused', phase: 'rcpt' },
      ...{ code: 550, enhancedCode: '5.2.1' },
      response: '550 5.2.1 information, please visit https://support.example.com/?p=ReceivingRate',
      lines: [
        '550-5.2.1 The user you are trying to contact is receiving mail at a rate that',
        '550-5.2.1 prevents additional messages from being delivered. For more',
        '550 5.2.1 information, please visit https://support.example.com/?p=ReceivingRate',
      ],
    });
    expect(await suppressions()).toEqual([]);
  });

  it('of the sender, in which unknown users are quoted, suppresses no recipient', async () => {
    const [id = ''] = await scene.acceptTo('rcpt-550-sender-verify');
    await start();
    const rows = await scene.readWhenStatus(id, 'bounced');
    expect(lastData(rows)).toMatchObject({ bounceType: 'soft', class: 'policy', ruleId: 'sender-address' });
    expect(await suppressions()).toEqual([]);
  });

  it.each(['rcpt', 'dot'])(
    'of a listed address of the service, at %s, costs no mail and suspends the destination',
    async (where) => {
      const before = await readCounters(scene.db, scene.tenant.organizationId);
      const listed = await scene.accept({ to: [`${where}-554-blocklist@listed.example`] });
      await start();
      expect(lastData(await deferral(listed))).toMatchObject({ reason: 'reputation', ruleId: 'blocklist' });
      const next = await scene.accept({ to: ['ada@listed.example'] });
      const elsewhere = await scene.accept({ to: ['ada@other.example'] });
      await scene.readWhenStatus(elsewhere, 'delivered');
      expect((await scene.read(next)).recipients).toMatchObject([{ attempts: 0 }]);
      expect(sink.messages.map(({ recipients }) => recipients)).toEqual([['ada@other.example']]);
      const after = await readCounters(scene.db, scene.tenant.organizationId);
      expect(after.bounced).toBe(before.bounced);
      expect(await suppressions()).toEqual([]);
    },
  );
});
