import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EgressService } from '../../../src/delivery/egress/egress.service';
import { EgressSyncJob } from '../../../src/delivery/worker/egress-sync.job';
import { PortRouter } from '../../doubles/port-router';
import { ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import { SmtpSink } from '../../doubles/smtp-sink';
import { createSigningTenant, DeliveryScene } from '../../setup/delivery-scene';

const LISTED = '554 5.7.1 Service unavailable; Client host blocked using zen.spamhaus.org';
const address = (last: number) => ({ address: `127.0.0.${last}`, ehlo: `out${last}.example.org` });

describe('pools of addresses', () => {
  let scene: DeliveryScene;
  let sink: SmtpSink;
  let receiver: ScriptedSmtpServer;
  let folder: string;
  /** What each conversation with the receiver began with. */
  let greetings: string[];
  let refused: string[];

  beforeAll(async () => {
    scene = await DeliveryScene.open();
    folder = await mkdtemp(join(tmpdir(), 'waybill-egress-'));
  });
  beforeEach(async () => {
    sink = await SmtpSink.start();
    [greetings, refused] = [[], []];
    // Refuses senders by the name that they say, as others do by their address.
    receiver = await ScriptedSmtpServer.start(async (peer) => {
      peer.send('220 receiver.example ESMTP\r\n');
      const greeting = await peer.line();
      greetings.push(greeting);
      peer.send('250 receiver.example\r\n');
      await peer.expect('MAIL');
      if (refused.some((name) => greeting.includes(name))) {
        peer.send(`${LISTED}\r\n`);
        return peer.close();
      }
      peer.send('250 ok\r\n');
      await peer.expect('RCPT');
      peer.send('250 ok\r\n');
      await peer.expect('DATA');
      peer.send('354 go on\r\n');
      await peer.until('\r\n.\r\n');
      peer.send('250 taken\r\n');
      peer.close();
    });
  });
  afterEach(async () => {
    await scene.clear();
    await sink.stop();
    await receiver.stop();
  });
  afterAll(async () => {
    await scene.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function start(pools: unknown) {
    const file = join(folder, 'pools.json');
    await writeFile(file, JSON.stringify(pools));
    return scene.startWorker({
      hopPort: 1,
      env: { EGRESS_POOLS: file, DRAIN_SECONDS: '1' },
      router: new PortRouter((destination) => ({ port: destination === 'listed.example' ? receiver.port : sink.port })),
    });
  }

  const own = (...last: number[]) => ({
    name: 'acme',
    addresses: last.map(address),
    organizations: [scene.tenant.organizationId],
  });

  it('send what is theirs, each from its addresses in turn, under their own names', async () => {
    const other = await createSigningTenant(scene.core, 'other.example');
    await start([own(2, 3), { name: 'news', addresses: [address(4)], category: 'bulk' }]);
    for (const n of [0, 1, 2, 3]) {
      const id = await scene.accept({ to: [`own${n}@d${n}.example`] });
      await scene.readWhenStatus(id, 'delivered');
    }
    const bulk = await scene.accept({ to: ['bulk@d4.example'], category: 'bulk' }, 'live', other);
    const rest = await scene.accept({ to: ['rest@d5.example'] }, 'live', other);
    for (const id of [bulk, rest]) await scene.readWhenStatus(id, 'delivered');
    const names = new Map(sink.messages.map(({ recipients, helo }) => [recipients[0]?.split('@')[0], helo]));
    expect([0, 1, 2, 3].map((n) => names.get(`own${n}`))).toEqual([
      ...['out2.example.org', 'out3.example.org', 'out2.example.org', 'out3.example.org'],
    ]);
    expect([names.get('bulk'), names.get('rest')]).toEqual(['out4.example.org', 'mail.example.org']);
  });

  it('try another address when a receiver refuses one for its reputation, and tell the operator', async () => {
    refused = ['out2.example.org'];
    const worker = await start([own(2, 3)]);
    const id = await scene.accept({ to: ['ada@listed.example'] });
    const { events } = await scene.readWhenStatus(id, 'delivered');
    expect(greetings).toEqual(['EHLO out2.example.org', 'EHLO out3.example.org']);
    expect(events.map(({ event_type }) => event_type)).toEqual(['queued', 'sending', 'sent', 'delivered']);
    await worker.get(EgressSyncJob).sync();
    const [pool] = await worker.get(EgressService).list();
    expect(pool).toMatchObject({
      pool: 'acme',
      addresses: [
        { address: '127.0.0.2', state: 'suspended', suspensions: [{ key: 'listed.example', cause: LISTED }] },
        { address: '127.0.0.3', state: 'active', suspensions: [] },
      ],
    });
    // Another worker heeds it, and other receivers get mail from it.
    greetings = [];
    await worker.close();
    await start([own(2, 3)]);
    for (const n of [0, 1]) {
      const next = await scene.accept({ to: [`ada${n}@listed.example`] });
      await scene.readWhenStatus(next, 'delivered');
    }
    expect(greetings).toEqual(['EHLO out3.example.org', 'EHLO out3.example.org']);
  });

  it('hold nobody else when all of one are refused, and hold it against no tenant', async () => {
    refused = ['out2.example.org'];
    const other = await createSigningTenant(scene.core, 'another.example');
    await start([own(2)]);
    const id = await scene.accept({ to: ['ada@listed.example'] });
    const rows = await scene.readWhen(
      id,
      ({ events }) => events.some((one) => one.event_type === 'deferred'),
      'a deferral',
    );
    expect(rows.events.at(-1)?.data).toMatchObject({ reason: 'reputation', class: 'reputation' });
    const second = await scene.accept({ to: ['ada@listed.example'] });
    const waiting = await scene.readWhen(
      second,
      ({ events }) => events.some((one) => one.event_type === 'deferred'),
      'a deferral',
    );
    expect(waiting.events.at(-1)?.data).toMatchObject({ reason: 'source-suspended' });
    const theirs = await scene.accept({ to: ['bob@listed.example'] }, 'live', other);
    await scene.readWhenStatus(theirs, 'delivered');
    expect(greetings).toEqual(['EHLO out2.example.org', 'EHLO mail.example.org']);
    expect(await scene.db.query('select * from suppressions')).toEqual([]);
  });
});
