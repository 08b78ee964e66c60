import { once } from 'node:events';
import { MINUTE } from '../../../src/common/clock';
import { createServer, type Server } from 'node:net';
import { SmtpConnection } from '../../../src/delivery/smtp/conversation/smtp-connection';
import { AttemptDispatcher } from '../../../src/delivery/worker/attempt-dispatcher';
import { ClaimPlanner } from '../../../src/delivery/worker/claims/claim-plan';
import { DeliveryPipeline } from '../../../src/delivery/worker/delivery-pipeline';
import { SmtpTransmitter } from '../../../src/delivery/worker/attempts/smtp-transmitter';
import { WorkSignal } from '../../../src/delivery/worker/session/work-signal';
import { WorkerSlots } from '../../../src/delivery/worker/slots/worker-slots';
import { PortRouter } from '../../doubles/port-router';
import { ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import { SmtpSink } from '../../doubles/smtp-sink';
import type { Tenant } from '../../factories/tenants';
import { createSigningTenant, DeliveryScene } from '../../setup/delivery-scene';
import { waitFor } from '../../setup/wait-for';

const numbered = (count: number) => Array.from({ length: count }, (_, n) => n);

describe('a slow destination delays only mail for it', () => {
  let scene: DeliveryScene;
  let other: Tenant;
  let sink: SmtpSink;
  let tarpit: ScriptedSmtpServer;

  beforeAll(async () => {
    scene = await DeliveryScene.open();
    other = await createSigningTenant(scene.core, 'other.example');
  });
  beforeEach(async () => {
    sink = await SmtpSink.start();
    // Says who it is, and never another word.
    tarpit = await ScriptedSmtpServer.start(async (peer) => {
      peer.send('220 take your time\r\n');
      await peer.untilGone();
    });
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await scene.clear();
    await sink.stop();
    await tarpit.stop();
  });
  afterAll(() => scene.close());

  const start = (env: Record<string, string>, hostName?: string) =>
    scene.startWorker({
      hopPort: 1,
      // What is cut at the end is cut soon.
      env: { DRAIN_SECONDS: '1', ...env },
      router: new PortRouter((destination) => ({
        port: destination.startsWith('slow') ? tarpit.port : sink.port,
        ...(hostName !== undefined &&
          destination.startsWith('slow') && { hosts: [{ hostName, addresses: ['127.0.0.1'] }] }),
      })),
    });

  it('thirty tarpits of one tenant leave room for the others', async () => {
    await Promise.all(numbered(60).map((n) => scene.accept({ to: [`r${n}@slow${n % 30}.example`] })));
    const worker = await start({ DELIVERY_CONCURRENCY: '20' });
    await waitFor(() => tarpit.connectionCount >= 5, { what: 'the share of the tarpits to be used up' });
    const id = await scene.accept({ to: ['ada@prompt.example'] }, 'live', other);
    await scene.readWhenStatus(id, 'delivered');
    // The same tenant's other mail is not stuck either.
    const own = await scene.accept({ to: ['ada@prompt.example'] });
    await scene.readWhenStatus(own, 'delivered');
    const slots = worker.get(WorkerSlots);
    expect(tarpit.connectionCount).toBe(5);
    expect(slots.active).toBe(5);
    expect(slots.free).toBe(15);
  });

  it('tarpits of many tenants leave room for one more', async () => {
    const tenants = await Promise.all(numbered(8).map((n) => createSigningTenant(scene.core, `t${n}.example`)));
    await Promise.all(
      tenants.flatMap((tenant, t) =>
        numbered(6).map((n) => scene.accept({ to: [`r@slow${t}-${n}.example`] }, 'live', tenant)),
      ),
    );
    await start({ DELIVERY_CONCURRENCY: '20' });
    await waitFor(() => tarpit.connectionCount >= 14, { what: 'the tarpits to take what they get' });
    const id = await scene.accept({ to: ['ada@prompt.example'] }, 'live', other);
    await scene.readWhenStatus(id, 'delivered');
    expect(tarpit.connectionCount).toBeLessThan(20);
  });

  it('tarpits of more tenants than there are slots give way to one that has nothing yet', async () => {
    const tenants = await Promise.all(numbered(5).map((n) => createSigningTenant(scene.core, `many${n}.example`)));
    const slow = await Promise.all(
      tenants.map((tenant, t) => scene.accept({ to: [`r@slow${t}.example`] }, 'live', tenant)),
    );
    await start({ DELIVERY_CONCURRENCY: '4' });
    await waitFor(() => tarpit.connectionCount === 3, { what: 'the tarpits to take what they get' });
    // The silence has lasted longer than it has.
    const silentMs = jest.spyOn(SmtpConnection.prototype, 'silentMs', 'get').mockReturnValue(MINUTE);
    const id = await scene.accept({ to: ['ada@prompt.example'] }, 'live', other);
    await scene.readWhenStatus(id, 'delivered');
    expect(silentMs).toHaveBeenCalled();
    // Its slot is free before its result is committed.
    const deferred = await waitFor(
      async () => {
        const events = (await Promise.all(slow.map((each) => scene.read(each)))).flatMap((rows) => rows.events);
        const found = events.filter(({ event_type }) => event_type === 'deferred');
        return found.length > 0 && found;
      },
      { what: 'the end of one that was cut short' },
    );
    expect(JSON.stringify(deferred)).toContain('The server was silent while other mail waited');
  });

  it('new mail of another tenant begins before anything more of what one has in hand', async () => {
    jest.spyOn(AttemptDispatcher.prototype, 'giveBack').mockReturnValue(new Map());
    await Promise.all(numbered(80).map((n) => scene.accept({ to: [`hang-after-dot+${n}@prompt.example`] })));
    await scene.startWorker({ hopPort: sink.port, env: { DELIVERY_CONCURRENCY: '20', DRAIN_SECONDS: '1' } });
    // Its share, with half as many in hand as there are slots: so there is no room for a claim.
    await sink.waitFor(() => sink.unanswered.length === 18, 'the share of one tenant to be used up');
    const id = await scene.accept({ to: ['ada@prompt.example'] }, 'live', other);
    await scene.readWhenStatus(id, 'sent');
    expect(sink.unanswered).toHaveLength(18);
    expect((await scene.queue()).claimed).toBeGreaterThan(25);
  });

  it('work that is announced to a worker without room for it goes to another', async () => {
    jest.spyOn(AttemptDispatcher.prototype, 'giveBack').mockReturnValue(new Map());
    const wait = WorkSignal.prototype.wait;
    // No worker checks by itself.
    jest.spyOn(WorkSignal.prototype, 'wait').mockImplementation(function (this: WorkSignal) {
      return wait.call(this, 10 * MINUTE);
    });
    await Promise.all(numbered(30).map((n) => scene.accept({ to: [`hang-after-dot+${n}@prompt.example`] })));
    const options = { hopPort: sink.port, env: { DELIVERY_CONCURRENCY: '20', DRAIN_SECONDS: '1' } };
    const full = await scene.startWorker(options);
    const { organizationId } = scene.tenant.as('live');
    // What it has in hand follows what has begun within a second.
    const hasEnough = () =>
      full.get(DeliveryPipeline).size === 30 && !full.get(ClaimPlanner).isNewcomer(organizationId);
    await waitFor(hasEnough, { what: 'the first worker to have enough' });
    const idle = await scene.startWorker(options);
    full.get(WorkSignal).setRank({ workers: 1, rank: 0 });
    idle.get(WorkSignal).setRank({ workers: 2, rank: 1 });
    jest.spyOn(WorkSignal.prototype, 'setRank').mockReturnValue();
    jest.spyOn(Math, 'random').mockReturnValue(0);
    const id = await scene.accept({ to: ['ada@prompt.example'] });
    await scene.readWhenStatus(id, 'sent');
    expect(full.get(DeliveryPipeline).size).toBe(30);
  });

  it('a domain that had no mail exchangers and gets some stops nobody’s mail', async () => {
    let group = 'moves.example';
    const router = new PortRouter(() => ({ port: sink.port, group }));
    await scene.startWorker({ hopPort: 1, router });
    const deliver = async () => scene.readWhenStatus(await scene.accept({ to: ['ada@moves.example'] }), 'delivered');
    // Its limit grows, so it is one that claims name.
    for (let n = 0; n < 3; n += 1) await deliver();
    group = 'mx.moves.example';
    for (let n = 0; n < 3; n += 1) await deliver();
  });

  it('a host behind many domains has one limit, and mail that waits for it holds no slot', async () => {
    const worker = await start({ DELIVERY_CONCURRENCY: '16', CONNECTIONS_PER_HOST: '2' }, 'mx.google.example');
    await Promise.all(numbered(40).map((n) => scene.accept({ to: [`r@slow${n}.example`] })));
    await waitFor(() => tarpit.connectionCount === 2, { what: 'the host to have its connections' });
    const id = await scene.accept({ to: ['ada@prompt.example'] });
    await scene.readWhenStatus(id, 'delivered');
    expect(tarpit.connectionCount).toBe(2);
    expect(worker.get(WorkerSlots).active).toBe(2);
  });

  describe('when the first mail exchanger is dead', () => {
    let dead: Server;
    let calls = 0;

    beforeEach(async () => {
      calls = 0;
      // Takes connections and says nothing: at the port of the sink, on another address of this machine.
      dead = createServer((socket) => {
        calls += 1;
        socket.on('error', () => undefined).destroy();
      });
      dead.listen(sink.port, '127.0.0.2');
      await once(dead, 'listening');
    });
    afterEach(async () => {
      dead.close();
      await once(dead, 'close');
    });

    it('one mail finds out, and the others go to the next at once', async () => {
      const hosts = [
        { hostName: 'mx1.x.example', addresses: ['127.0.0.2'] },
        { hostName: 'mx2.x.example', addresses: ['127.0.0.1'] },
      ];
      const router = new PortRouter(() => ({ port: sink.port, hosts }));
      await scene.startWorker({ hopPort: 1, router });
      const [first = ''] = await scene.acceptTo('first');
      await scene.readWhenStatus(first, 'delivered');
      expect(calls).toBe(1);
      for (const id of await scene.acceptTo('a', 'b', 'c', 'd', 'e')) await scene.readWhenStatus(id, 'delivered');
      expect(calls).toBe(1);
    });
  });

  it('nor is a lack of this host anyone’s fault: the mail goes soon, and the worker does less', async () => {
    const worker = await start({ DELIVERY_CONCURRENCY: '8' });
    const transmitter = worker.get(SmtpTransmitter);
    const lack = { kind: 'failed', cause: 'local', afterFinalDot: false, smtp: {} } as const;
    jest.spyOn(transmitter, 'transmit').mockResolvedValueOnce(lack);
    const id = await scene.accept({ to: ['ada@prompt.example'] });
    const { events, recipients } = await scene.readWhenStatus(id, 'delivered');
    expect(events.map(({ event_type }) => event_type)).toEqual(['queued', 'sending', 'sent', 'delivered']);
    expect(recipients).toMatchObject([{ attempts: 1 }]);
    expect(worker.get(WorkerSlots).describe()).toEqual([]);
    await waitFor(() => worker.get(WorkerSlots).free > 0, { what: 'the slots to come back' });
    expect(worker.get(WorkerSlots).free).toBeLessThan(8);
  });
});
