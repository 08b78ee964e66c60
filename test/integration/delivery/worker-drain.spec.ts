import { SmtpSink } from '../../doubles/smtp-sink';
import type { StoredEmail } from '../../factories/stored-email';
import { DeliveryScene } from '../../setup/delivery-scene';

const eventTypes = ({ events }: StoredEmail) => events.map(({ event_type }) => event_type);
const ALL = 60;

describe('a worker that stops', () => {
  let scene: DeliveryScene;
  let sink: SmtpSink;

  beforeAll(async () => {
    scene = await DeliveryScene.open();
  });
  beforeEach(async () => {
    sink = await SmtpSink.start();
  });
  afterEach(async () => {
    await scene.clear();
    await sink.stop();
  });
  afterAll(() => scene.close());

  const start = (env: Record<string, string> = {}) => scene.startWorker({ hopPort: sink.port, env });
  const acceptAll = () => scene.acceptTo(...Array.from({ length: ALL }, (_, n) => `slow-20+${n}`));
  const recipients = () => sink.messages.flatMap((message) => message.recipients);

  async function waitUntilAllAreSent(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      expect(eventTypes(await scene.readWhenStatus(id, 'sent'))).toEqual(['queued', 'sending', 'sent']);
    }
  }

  it('finishes mail in progress and leaves the rest, so that each mail is sent once', async () => {
    const ids = await acceptAll();
    const worker = await start({ DELIVERY_CONCURRENCY: '10' });
    await sink.waitForMessages(5);
    await worker.close();
    const done = sink.messageCount;
    expect(done).toBeLessThan(ALL);
    expect(await scene.queue()).toEqual({ ready: ALL - done });
    await start();
    await waitUntilAllAreSent(ids);
    expect(new Set(recipients()).size).toBe(ALL);
    expect(recipients()).toHaveLength(ALL);
  });

  it('hands over to others while they run, one after the other', async () => {
    let worker = await start({ DELIVERY_CONCURRENCY: '8' });
    const ids: string[] = [];
    for (let deploy = 0; deploy < 3; deploy += 1) {
      ids.push(...(await acceptAll()));
      const next = await start({ DELIVERY_CONCURRENCY: '8' });
      await sink.waitForMessages(deploy * ALL + 5);
      await worker.close();
      worker = next;
    }
    await waitUntilAllAreSent(ids);
    expect(recipients()).toHaveLength(3 * ALL);
    const rows = await scene.db.query('select max(attempts)::int as most from email_recipients');
    expect(rows).toEqual([{ most: 1 }]);
  });

  it('ends attempts that take too long, and charges nothing for them', async () => {
    const ids = await scene.acceptTo('hang-at-rcpt+1', 'hang-at-data+2');
    const worker = await start({ DRAIN_SECONDS: '1' });
    await sink.waitFor(() => sink.openConnections === 2, 'both conversations');
    await worker.close();
    for (const id of ids) {
      const { deliveries, events } = await scene.read(id);
      expect(deliveries).toMatchObject([{ state: 'ready', attempt: 0, crashes: 0, session_id: null }]);
      expect(events.filter(({ event_type }) => event_type !== 'sending')).toHaveLength(1);
    }
    expect(sink.openConnections).toBe(0);
  });

  it('records as unknown what it cuts after the final dot', async () => {
    const [id = ''] = await scene.acceptTo('hang-after-dot');
    const worker = await start({ DRAIN_SECONDS: '1' });
    await sink.waitFor(() => sink.unanswered.length === 1, 'the final dot');
    await worker.close();
    const { deliveries, events } = await scene.read(id);
    expect(deliveries).toMatchObject([{ state: 'waiting', attempt: 1 }]);
    expect(events.at(-1)).toMatchObject({ event_type: 'unknown', data: { reason: 'outcome_unknown' } });
  });
});
