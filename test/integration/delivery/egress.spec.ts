import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { checkEgress } from '../../../src/cli/doctor/database-checks';
import type { Services } from '../../../src/cli/session/cli-session';
import { Metrics } from '../../../src/common/metrics/metrics';
import { EgressPools } from '../../../src/delivery/egress/egress-pools';
import { EgressService } from '../../../src/delivery/egress/egress.service';
import { EgressSyncJob } from '../../../src/delivery/worker/egress.job';
import type { StoredEmail } from '../../factories/stored-email';
import { PortRouter } from '../../doubles/port-router';
import { ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import { SmtpSink } from '../../doubles/smtp-sink';
import { createSigningTenant, DeliveryScene } from '../../setup/delivery-scene';

const LISTED = '554 5.7.1 Service unavailable; Client host blocked using zen.spamhaus.org';
const nothingElse = () => Promise.resolve();
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
      await peer.takeMail();
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

  async function start(pools?: unknown) {
    const file = join(folder, 'pools.json');
    if (pools) await writeFile(file, JSON.stringify(pools));
    return scene.startWorker({
      hopPort: 1,
      env: { ...(pools ? { EGRESS_POOLS: file } : {}), DRAIN_SECONDS: '1' },
      router: new PortRouter((destination) => ({ port: destination === 'listed.example' ? receiver.port : sink.port })),
    });
  }

  const own = (...last: number[]) => ({
    name: 'acme',
    addresses: last.map(address),
    organizations: [scene.tenant.organizationId],
  });

  it('send the mail of their organizations, from their addresses in turn, under their own names', async () => {
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

  it('try another address when a receiver refuses one for its reputation, and notify the operator', async () => {
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
        { address: '127.0.0.3', state: 'warming', suspensions: [] },
      ],
    });
    // Another worker applies it, and other receivers get mail from it.
    greetings = [];
    await worker.close();
    await start([own(2, 3)]);
    for (const n of [0, 1]) {
      const next = await scene.accept({ to: [`ada${n}@listed.example`] });
      await scene.readWhenStatus(next, 'delivered');
    }
    expect(greetings).toEqual(['EHLO out3.example.org', 'EHLO out3.example.org']);
  });

  it('are said once to be refused, however often and by how many workers', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn');
    for (const worker of [await start(), await start()]) {
      for (let refusal = 0; refusal < 2; refusal += 1) {
        worker.get(EgressPools).suspend(undefined, 'often.example', LISTED);
        await worker.get(EgressSyncJob).sync();
      }
    }
    const said = warn.mock.calls.filter(([line]) => (line as { destination?: string }).destination === 'often.example');
    expect(said).toEqual([[expect.objectContaining({ address: 'default', cause: LISTED })]]);
  });

  it('hold up no other tenant when all of one are refused, and hold it against no tenant', async () => {
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

  it('are not needed for the protection: the choice of the system counts as an address', async () => {
    refused = ['mail.example.org'];
    const worker = await start();
    const id = await scene.accept({ to: ['ada@listed.example'] });
    const isDeferred = (rows: StoredEmail) => rows.events.some((one) => one.event_type === 'deferred');
    const { events } = await scene.readWhen(id, isDeferred, 'a deferral');
    expect(events.at(-1)?.data).toMatchObject({ reason: 'reputation', ruleId: 'blocklist' });
    await worker.get(EgressSyncJob).sync();
    expect(await worker.get(EgressService).list()).toMatchObject([
      {
        pool: 'default',
        addresses: [
          {
            address: 'default',
            ehlo: 'mail.example.org',
            state: 'suspended',
            suspensions: [{ key: 'listed.example', cause: LISTED }],
          },
        ],
      },
    ]);
    expect(await checkEgress(worker as Services)).toMatchObject({
      status: 'warning',
      message: expect.stringContaining('default by listed.example'),
    });
    expect(await worker.get(Metrics).registry.metrics()).toContain('waybill_egress_suspensions{address="default"} 1');
    // The receiver is paused, other receivers and the sender's domain are not.
    const held = await scene.accept({ to: ['bob@listed.example'] });
    const elsewhere = await scene.accept({ to: ['bob@fine.example'] });
    await scene.readWhenStatus(elsewhere, 'delivered');
    expect((await scene.read(held)).email.status).toBe('queued');
    const sending = await scene.db.query<{ status: string }>('select sending_status as status from domains');
    expect(new Set(sending.map(({ status }) => status))).toEqual(new Set(['active']));
    // Delisted: the operator releases the address, and the waiting mail is sent.
    refused = [];
    const keys = await worker.get(EgressService).release('default', undefined, nothingElse);
    expect(keys).toEqual(['listed.example']);
    await scene.readWhenStatus(held, 'delivered');
    expect(await worker.get(EgressService).list()).toMatchObject([{ addresses: [{ state: 'active' }] }]);
    await expect(worker.get(EgressService).release('default', undefined, nothingElse)).rejects.toThrow('not found');
    const audit = await scene.db.query(
      `select actor, action, target_id, data from audit_log where action like 'egress.%' order by id`,
    );
    expect(audit.at(-1)).toEqual({
      ...{ actor: 'system', action: 'egress.suspended', target_id: 'default' },
      data: { destination: 'listed.example', until: expect.any(String) },
    });
  });

  it('keep the choice of the system away from a receiver that refuses it, and that one alone', async () => {
    refused = ['mail.example.org'];
    const other = await createSigningTenant(scene.core, 'third.example');
    await start([own(2)]);
    const isDeferred = (rows: StoredEmail) => rows.events.some((one) => one.event_type === 'deferred');
    const first = await scene.accept({ to: ['eve@listed.example'] }, 'live', other);
    await scene.readWhen(first, isDeferred, 'a deferral');
    const second = await scene.accept({ to: ['eve@listed.example'] }, 'live', other);
    const { events } = await scene.readWhen(second, isDeferred, 'a deferral');
    expect(events.at(-1)?.data).toMatchObject({ reason: 'source-suspended' });
    const pooled = await scene.accept({ to: ['ada@listed.example'] });
    await scene.readWhenStatus(pooled, 'delivered');
    expect(greetings).toEqual(['EHLO mail.example.org', 'EHLO out2.example.org']);
  });
});
