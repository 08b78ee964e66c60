import { MINUTE } from '../../../src/common/clock';
import { UnavailableError } from '../../../src/common/errors/app-error';
import { Metrics } from '../../../src/common/metrics/metrics';
import { Database } from '../../../src/database/pool/database.service';
import { MessageSource } from '../../../src/delivery/ports/sources';
import { DeliveryQueueRepository } from '../../../src/delivery/queue/delivery-queue.repository';
import { FixedRouter } from '../../../src/delivery/routing/create-router';
import { HeldDestinations } from '../../../src/delivery/shaping/held-destinations.service';
import { QueueSweepJob } from '../../../src/delivery/worker/queue.job';
import { DeadClaims } from '../../../src/delivery/worker/crash-recovery';
import { FakeClock } from '../../doubles/fake-clock';
import { type ScriptedPeer, ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import { SmtpSink } from '../../doubles/smtp-sink';
import { TcpProxy } from '../../doubles/tcp-proxy';
import type { StoredEmail } from '../../factories/stored-email';
import type { Core } from '../../setup/core-context';
import { createSigningTenant, DeliveryScene } from '../../setup/delivery-scene';
import { waitFor } from '../../setup/wait-for';

const eventTypes = ({ events }: StoredEmail) => events.map(({ event_type }) => event_type);

/** Keeps its callers until a test lets them go on. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

async function quit(peer: ScriptedPeer): Promise<void> {
  await peer.expect('QUIT');
  peer.send('221 bye\r\n');
  peer.close();
}

it('charges no mail for a relay whose name is not found for a moment', async () => {
  const scene = await DeliveryScene.open();
  const sink = await SmtpSink.start();
  const lookUp = jest.fn(() => Promise.resolve(['127.0.0.1']));
  lookUp.mockRejectedValueOnce(Object.assign(new Error(), { code: 'EAI_AGAIN' }));
  const router = new FixedRouter(scene.clock, { hostName: 'relay.example', port: sink.port, final: false, lookUp });
  const ids = await scene.acceptTo('a', 'b', 'c', 'd');
  await scene.startWorker({ hopPort: sink.port, router, env: { DELIVERY_MODE: 'relay' } });
  for (const id of ids) {
    expect(eventTypes(await scene.readWhenStatus(id, 'sent'))).toEqual(['queued', 'sending', 'sent']);
  }
  expect(lookUp).toHaveBeenCalledTimes(2);
  await scene.close();
  await sink.stop();
});

it('tells operators why mail waits for a relay whose name is not found, until it is', async () => {
  const scene = await DeliveryScene.open();
  const sink = await SmtpSink.start();
  const lookUp = jest.fn<Promise<string[]>, []>();
  lookUp.mockRejectedValue(Object.assign(new Error(), { code: 'ENOTFOUND' }));
  const router = new FixedRouter(scene.clock, { hostName: 'relay.example', port: sink.port, final: false, lookUp });
  const [id = ''] = await scene.acceptTo('a');
  const env = { DELIVERY_MODE: 'relay', RELAY_URL: 'smtp://relay.example' };
  const worker = await scene.startWorker({ hopPort: sink.port, router, env });
  const held = async () => (await worker.get(HeldDestinations).get()).of('x.example');
  const metric = async () => worker.get(Metrics).registry.getSingleMetricAsString('waybill_next_hop_missing');
  const found = await waitFor(async () => (await held())?.state === 'paused' && held(), { what: 'what holds it back' });
  expect(found?.cause).toBe('The name of the next hop is not found: DNS look-up failed (ENOTFOUND).');
  expect(await metric()).toMatch(/ 1$/m);
  lookUp.mockResolvedValue(['127.0.0.1']);
  await scene.readWhenStatus(id, 'sent');
  expect(await metric()).toMatch(/ 0$/m);
  await waitFor(async () => (await held()) === undefined, { what: 'nothing to hold mail back' });
  await scene.close();
  await sink.stop();
});

describe('a worker that has lost its lease', () => {
  let clock: FakeClock;
  let scene: DeliveryScene;

  beforeAll(async () => {
    clock = new FakeClock();
    scene = await DeliveryScene.open(clock);
  });
  afterEach(() => scene.clear());
  afterAll(() => scene.close());

  const sessions = async () => (await scene.db.query('select id from worker_sessions')).length;

  /**
   * A server that keeps the first client waiting for the 354; later clients are served at once. Messages are the ones
   * that ended with a dot.
   */
  async function startSlowServer() {
    const [held, released] = [gate(), gate()];
    const messages: number[] = [];
    const gone: number[] = [];
    const server = await ScriptedSmtpServer.start(async (peer, connection) => {
      await peer.greet();
      for (const command of ['MAIL', 'RCPT']) {
        await peer.expect(command);
        peer.send('250 ok\r\n');
      }
      await peer.expect('DATA');
      if (connection === 1) {
        held.open();
        await released.opened;
      }
      peer.send('354 go\r\n');
      await peer.until('\r\n.\r\n').catch((error: unknown) => {
        gone.push(connection);
        throw error;
      });
      messages.push(connection);
      peer.send('250 taken\r\n');
      await quit(peer);
    });
    return { server, messages, gone, held: held.opened, release: released.open };
  }

  it('writes no final dot, settles nothing and gives the mail back', async () => {
    const { server, messages, gone, held, release } = await startSlowServer();
    const [id = ''] = await scene.acceptTo('ada');
    await scene.startWorker({ hopPort: server.port });
    await held;
    clock.advance(MINUTE);
    release();
    await waitFor(() => gone.includes(1), { what: 'the conversation to be broken off' });
    const rows = await scene.readWhenStatus(id, 'sent');
    expect(eventTypes(rows)).toEqual(['queued', 'sending', 'sent']);
    expect(rows.recipients).toMatchObject([{ attempts: 1 }]);
    expect(messages).toEqual([expect.any(Number)]);
    expect(messages).not.toContain(1);
    await scene.clear();
    await server.stop();
  });

  it('writes no final dot either when it has begun the next lease', async () => {
    const { server, messages, gone, held, release } = await startSlowServer();
    const [id = ''] = await scene.acceptTo('ada');
    await scene.startWorker({ hopPort: server.port });
    await held;
    const [first] = await scene.db.query('select id from worker_sessions');
    clock.advance(MINUTE);
    await waitFor(async () => (await sessions()) === 2, { what: 'the next lease' });
    // Others see the lease end too, and free the mail for the next claim: the same worker under its next lease.
    await scene.db.query('update worker_sessions set lease_until = now() where id = $1', [first?.id]);
    const other = await scene.startWorker({ hopPort: server.port, isRunning: false });
    await other.get(DeadClaims).free(500);
    const rows = await scene.readWhenStatus(id, 'sent');
    expect(await sessions()).toBe(2);
    expect(messages).toEqual([2]);
    release();
    await waitFor(() => gone.includes(1), { what: 'the first conversation to be broken off' });
    expect(messages).toEqual([2]);
    expect(eventTypes(rows)).toEqual(['queued', 'sending', 'unknown', 'sent']);
    expect(eventTypes(await scene.read(id))).toEqual(eventTypes(rows));
    expect(await scene.queue()).toEqual({});
    await scene.clear();
    await server.stop();
  });
});

describe('a worker that cannot read what one organization has stored', () => {
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

  it("delivers the mail of the others, and puts off that one's", async () => {
    const broken = await createSigningTenant(scene.core, 'broken.example');
    const held = await scene.accept({ from: 'a@broken.example', to: ['r@x.example'] }, 'live', broken);
    const ids = await scene.acceptTo('a', 'b', 'c');
    await scene.db.query(`insert into suppression_hash_keys values ($1, 'of another installation', now())`, [
      broken.organizationId,
    ]);
    await scene.startWorker({ hopPort: sink.port });
    for (const id of ids) await scene.readWhenStatus(id, 'sent');
    await scene.readWhen(held, (rows) => eventTypes(rows).includes('deferred'), 'its mail to be put off');
    await scene.db.query('delete from suppression_hash_keys');
  });
});

describe('a worker whose database goes away', () => {
  let scene: DeliveryScene;
  let proxy: TcpProxy;
  let url: string;

  beforeAll(async () => {
    scene = await DeliveryScene.open();
    const direct = new URL(scene.db.url);
    proxy = await TcpProxy.start(Number(direct.port));
    direct.port = String(proxy.port);
    url = direct.toString();
  });
  afterEach(async () => {
    proxy.restore();
    jest.restoreAllMocks();
    await scene.clear();
  });
  afterAll(async () => {
    await scene.close();
    await proxy.stop();
  });

  it('keeps results and commits them later, without a second send', async () => {
    const [taken, answered] = [gate(), gate()];
    const recipients: string[] = [];
    const server = await ScriptedSmtpServer.start(async (peer) => {
      await peer.greet(['PIPELINING']);
      await peer.expect('MAIL');
      recipients.push(await peer.expect('RCPT'));
      await peer.expect('DATA');
      peer.send('250 ok\r\n250 ok\r\n354 go\r\n');
      await peer.until('\r\n.\r\n');
      if (recipients.length === 10) taken.open();
      await answered.opened;
      peer.send('250 taken\r\n');
      await quit(peer);
    });
    const ids = await scene.acceptTo(...Array.from({ length: 10 }, (_, n) => `r${n}`));
    await scene.startWorker({ hopPort: server.port, url });
    await taken.opened;
    proxy.cut();
    answered.open();
    // The worker has read all replies when it continues with its next task, which fails too.
    await waitFor(async () => (await openSessions('waybill-worker')) === 0, { what: 'the connections to end' });
    expect(await scene.queue()).toEqual({ claimed: 10 });
    proxy.restore();
    for (const id of ids) {
      expect(eventTypes(await scene.readWhenStatus(id, 'sent'))).toEqual(['queued', 'sending', 'sent']);
    }
    expect(new Set(recipients).size).toBe(10);
    expect(recipients).toHaveLength(10);
    await scene.clear();
    await server.stop();
  });

  it('continues with new mail afterwards', async () => {
    const sink = await SmtpSink.start();
    await scene.startWorker({ hopPort: sink.port, url });
    const [before = ''] = await scene.acceptTo('before');
    await scene.readWhenStatus(before, 'sent');
    proxy.cut();
    const ids = await scene.acceptTo('a', 'b', 'c');
    proxy.restore();
    for (const id of ids) await scene.readWhenStatus(id, 'sent');
    expect(sink.messageCount).toBe(4);
    await sink.stop();
  });

  describe('for a moment, in the worst of moments', () => {
    let sink: SmtpSink;

    beforeEach(async () => {
      sink = await SmtpSink.start();
    });
    afterEach(() => sink.stop());

    async function expectFound(worker: Core, id: string): Promise<void> {
      const isSent = async () => {
        // As if a minute had passed since the first claim, which is how long one may be on its way to the worker.
        await scene.db.query(
          `update deliveries set claimed_at = claimed_at - interval '1 minute' where claim_token = 1`,
        );
        await worker.get(QueueSweepJob).releaseOrphaned();
        return (await scene.read(id)).email.status === 'sent';
      };
      await waitFor(isSent, { what: 'the claim to be found again' });
    }
    const away = () => Promise.reject(new UnavailableError());

    it('loses no claim whose commit went unanswered', async () => {
      const worker = await scene.startWorker({ hopPort: sink.port, isRunning: false });
      const database = worker.get(Database);
      const transaction = database.transaction.bind(database);
      jest.spyOn(database, 'transaction').mockImplementationOnce(async (work) => {
        await transaction(work);
        throw new UnavailableError();
      });
      const ids = await scene.acceptTo('a', 'b', 'c');
      await worker.start();
      for (const id of ids) await expectFound(worker, id);
      expect(sink.messageCount).toBe(3);
    });

    it('loses no claim that could neither be prepared nor be given back', async () => {
      const worker = await scene.startWorker({ hopPort: sink.port, isRunning: false });
      jest.spyOn(worker.get(MessageSource), 'load').mockImplementationOnce(away);
      jest.spyOn(worker.get(DeliveryQueueRepository), 'release').mockImplementationOnce(away);
      const ids = await scene.acceptTo('a', 'b', 'c');
      await worker.start();
      for (const id of ids) await expectFound(worker, id);
      expect(sink.messageCount).toBe(3);
    });
  });

  async function openSessions(applicationName: string): Promise<number> {
    const rows = await scene.db.query(
      'select from pg_stat_activity where datname = current_database() and application_name = $1',
      [applicationName],
    );
    return rows.length;
  }
});
