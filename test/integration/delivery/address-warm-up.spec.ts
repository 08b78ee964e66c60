import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EgressService } from '../../../src/delivery/egress/egress.service';
import { EgressAddressesRepository } from '../../../src/delivery/egress/egress-addresses.repository';
import { WarmUpSyncJob } from '../../../src/delivery/worker/egress.job';
import { toDetailDto } from '../../../src/modules/emails/dto/email.mapper';
import { EmailsService } from '../../../src/modules/emails/emails.service';
import { PortRouter } from '../../doubles/port-router';
import { SmtpSink } from '../../doubles/smtp-sink';
import { DeliveryScene } from '../../setup/delivery-scene';
import { waitFor } from '../../setup/wait-for';

const address = (last: number) => ({ address: `127.0.0.${last}`, ehlo: `out${last}.example.org` });
const numbered = (count: number) => Array.from({ length: count }, (_, n) => n);
const nothingElse = () => Promise.resolve();

describe('a new address', () => {
  let scene: DeliveryScene;
  let sink: SmtpSink;
  let folder: string;

  beforeAll(async () => {
    scene = await DeliveryScene.open();
    folder = await mkdtemp(join(tmpdir(), 'waybill-warm-up-'));
  });
  beforeEach(async () => {
    sink = await SmtpSink.start();
  });
  afterEach(async () => {
    await scene.clear();
    await sink.stop();
    await scene.db.query('delete from egress_addresses; delete from egress_volumes');
  });
  afterAll(async () => {
    await scene.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function start(addresses: object[], schedule = '3,5,8') {
    const file = join(folder, 'pools.json');
    await writeFile(file, JSON.stringify([{ name: 'bulk', addresses, category: 'bulk' }]));
    const router = new PortRouter(() => ({ port: sink.port }));
    return scene.startWorker({
      hopPort: 1,
      env: { EGRESS_POOLS: file, EGRESS_WARM_UP: schedule, DRAIN_SECONDS: '1' },
      router,
    });
  }
  const send = (count: number, destination = 'provider.example') =>
    Promise.all(numbered(count).map((n) => scene.accept({ to: [`r${n}@${destination}`], category: 'bulk' })));
  const heloCounts = () => {
    const counts = new Map<string, number>();
    for (const { helo } of sink.messages) counts.set(helo, (counts.get(helo) ?? 0) + 1);
    return Object.fromEntries(counts);
  };
  const untilWaiting = (count: number) =>
    waitFor(async () => (await scene.queue()).waiting === count, { what: `${count} to wait` });

  it('sends its daily volume to each provider, of all workers together; the rest waits for the next day and shows why', async () => {
    const workers = [await start([address(2)]), await start([address(2)])];
    const [id = ''] = await send(8);
    await send(2, 'other.example');
    await untilWaiting(5);
    expect(sink.messages.filter(({ recipients }) => recipients[0]?.endsWith('@provider.example'))).toHaveLength(3);
    expect(sink.messages).toHaveLength(5);
    const open = await scene.db.query<{ email_id: string; attempt: number; due_at: Date }>(
      // Of the others the last results may not be committed yet.
      "select email_id, attempt, due_at from deliveries where state = 'waiting'",
    );
    const midnight = Math.ceil(Date.now() / 86_400_000) * 86_400_000;
    for (const { due_at, attempt } of open) {
      // Nothing was tried, so that nothing is charged.
      expect(attempt).toBe(0);
      expect(due_at.getTime()).toBeGreaterThanOrEqual(midnight - 1_000);
      expect(due_at.getTime()).toBeLessThanOrEqual(midnight + 3_601_000);
    }
    const waitingId = open[0]?.email_id ?? id;
    const detail = await scene.core.get(EmailsService).detail(scene.tenant.as('live'), waitingId);
    expect(toDetailDto(detail).recipients[0]?.waiting).toEqual({
      reason: 'warming_up',
      until: expect.any(String),
      detail: expect.stringContaining('new to this receiver'),
    });
    const [pool] = (await workers[0]?.get(EgressService).list()) ?? [];
    expect(pool?.addresses).toMatchObject([
      {
        address: '127.0.0.2',
        state: 'warming',
        warmUp: { day: 1, days: 3, dailyVolume: 3, providers: [{ provider: 'provider.example', sent: 3 }, {}] },
      },
    ]);
  });

  it('leaves mail beyond its volume to the other addresses of its pool', async () => {
    await start([address(2), { ...address(3), warmUp: false }]);
    await send(10);
    await sink.waitForMessages(10);
    expect(heloCounts()).toEqual({ 'out2.example.org': 3, 'out3.example.org': 7 });
    await waitFor(async () => Object.keys(await scene.queue()).length === 0, { what: 'all to be settled' });
  });

  it('may send more each day on which it sends, until it is warm', async () => {
    const worker = await start([address(2)]);
    const repository = worker.get(EgressAddressesRepository);
    const take = async () => (await repository.takeVolume('127.0.0.2', 'p', 100, [3, 5, 8]))?.granted;
    const nextDay = () =>
      scene.db.query(`update egress_addresses set warm_up_date = warm_up_date - 1;
                      update egress_volumes set day = day - 1`);
    await waitFor(async () => (await repository.listAddresses()).length === 1, {
      what: 'the address to be registered',
    });
    const granted: unknown[] = [];
    for (let day = 0; day < 3; day += 1) {
      granted.push(await take(), await take());
      await nextDay();
    }
    expect(granted).toEqual([3, 0, 5, 0, 8, 0]);
    expect(await repository.takeVolume('127.0.0.2', 'p', 100, [3, 5, 8])).toMatchObject({ isWarm: true });
    expect(await repository.listAddresses()).toMatchObject([{ address: '127.0.0.2', isWarm: true }]);
  });

  it('is skipped or restarted by an operator, whom workers heed', async () => {
    const worker = await start([address(2)], '1,1');
    await send(2);
    await untilWaiting(1);
    const service = worker.get(EgressService);
    expect(await service.changeWarmUp('127.0.0.2', true, nothingElse)).toMatchObject({ state: 'active' });
    await worker.get(WarmUpSyncJob).sync();
    await send(4);
    await sink.waitForMessages(5);
    expect(await service.changeWarmUp('127.0.0.2', false, nothingElse)).toMatchObject({
      state: 'warming',
      warmUp: { day: 0, dailyVolume: 1 },
    });
    await worker.get(WarmUpSyncJob).sync();
    await send(2, 'third.example');
    await untilWaiting(2);
    expect(sink.messages).toHaveLength(6);
    await expect(service.changeWarmUp('192.0.2.9', true, nothingElse)).rejects.toThrow('Address not found');
  });

  it('is none of those that an installation had before there was a warm-up, nor any when that is off', async () => {
    await scene.db.query(`insert into egress_addresses (address, warm_up_ended_at) values ('*', now())`);
    await start([address(2)], '1');
    await send(3);
    await sink.waitForMessages(3);
    await scene.clear();
    await scene.db.query('delete from egress_addresses');
    await start([address(2)], 'off');
    await send(3);
    await sink.waitForMessages(6);
  });
});
