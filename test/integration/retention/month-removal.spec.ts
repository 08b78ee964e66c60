import { EventsService } from '../../../src/modules/events/events.service';
import { EmailsService } from '../../../src/modules/emails/emails.service';
import { EmailListService } from '../../../src/modules/emails/email-list.service';
import { PartitionRetentionService, PartitionsJob } from '../../../src/modules/emails/retention/retention.job';
import { type Month, monthOf, MONTHLY_TABLES } from '../../../src/modules/emails/retention/months';
import { RetentionRepository } from '../../../src/modules/emails/retention/retention.repository';
import type { Dropped } from '../../../src/modules/emails/retention/sql/retention.sql';
import { firstIdAt } from '../../../src/common/ids';
import { Metrics } from '../../../src/common/metrics/metrics';
import { DEFERRED } from '../../factories/outcomes';
import { readCounters } from '../../factories/stored-email';
import { createSigningTenant } from '../../setup/delivery-scene';
import { waitFor } from '../../setup/wait-for';
import { monthOfEmail, RetentionScene } from './retention-scene';

describe('the retention of emails', () => {
  let scene: RetentionScene;
  beforeEach(async () => (scene = await RetentionScene.open()));
  afterEach(() => scene.close());

  const run = () => scene.worker.get(PartitionRetentionService).run();
  const viewer = () => scene.mail.tenant.as('live');
  const list = () => scene.mail.core.get(EmailListService).page(viewer(), {}, { page: 1, limit: 10 });
  const toMonth = (month: Month, later: number) => scene.clock.set(monthOf(month, later));
  const NOTHING = { kept: 0, partitions: 0, rows: 0 };

  it('ends after thirteen whole months: partitions go with all that was in them', async () => {
    const id = await scene.delivered({ attachments: [{ filename: 'a.txt', content: 'YQ==' }] });
    const month = monthOfEmail(id);
    for (const later of [12, 13]) {
      toMonth(month, later);
      expect(await run()).toEqual(NOTHING);
      expect((await scene.mail.read(id)).events).toHaveLength(3);
    }
    scene.clock.set(new Date(monthOf(month, 14).getTime() - 1));
    expect(await run()).toEqual(NOTHING);
    toMonth(month, 14);
    expect(await run()).toEqual({ kept: 0, partitions: MONTHLY_TABLES.length, rows: 0 });
    expect(await scene.partitions(month)).toEqual([]);
    expect(await scene.placesOf(id)).toEqual({});
    await expect(scene.mail.core.get(EmailsService).detail(viewer(), id)).rejects.toMatchObject({
      code: 'resource_not_found',
    });
    expect(await run()).toEqual(NOTHING);
  });

  it('takes the counts of lists along, and leaves the statistics', async () => {
    const month = monthOfEmail(await scene.delivered());
    expect(await list()).toMatchObject({ total: 1 });
    toMonth(month, 14);
    await run();
    expect(await list()).toEqual({ emails: [], total: 0, next: undefined, partial: false });
    const { organizationId } = scene.mail.tenant;
    expect(await readCounters(scene.db, organizationId)).toEqual({ accepted: 1, sent: 1, delivered: 1 });
  });

  it('keeps a month while any delivery of it is open, reports that, and removes it afterwards', async () => {
    const done = await scene.delivered();
    const open = await scene.mail.accept();
    await scene.tell(open, DEFERRED);
    const month = monthOfEmail(done);
    toMonth(month, 14);
    const retention = scene.worker.get(PartitionsJob);
    const kept = () => scene.worker.get(Metrics).registry.getSingleMetricAsString('waybill_retention_partitions_kept');
    await retention.removePartitions();
    expect(await kept()).toContain('waybill_retention_partitions_kept 1');
    expect(await scene.partitions(month)).toEqual(MONTHLY_TABLES);
    expect(await list()).toMatchObject({ total: 2 });
    expect((await scene.mail.read(open)).content).toHaveProperty('text', 'Hello');

    await scene.tell(open, { kind: 'failed', reason: 'expired' });
    await retention.removePartitions();
    expect(await kept()).toContain('waybill_retention_partitions_kept 0');
    expect(await scene.partitions(month)).toEqual([]);
  });

  it('touches nothing younger, of any organization', async () => {
    const other = await createSigningTenant(scene.mail.core, 'other.example');
    const ids = [await scene.delivered(), await scene.mail.accept()];
    const old = firstIdAt(monthOf(scene.clock.now(), -14));
    await insertOld(other.organizationId, old);
    expect(await run()).toEqual({ kept: 0, partitions: 0, rows: 2 });
    expect(await scene.placesOf(old)).toEqual({});
    expect(await list()).toMatchObject({ total: 2 });
    for (const id of ids) expect((await scene.mail.read(id)).email.id).toBe(id);
  });

  it('ends for what lies in the default partitions as well, unless it is open', async () => {
    const id = await scene.delivered();
    const month = monthOfEmail(id);
    const old = firstIdAt(monthOf(month, -20));
    await insertOld(scene.mail.tenant.organizationId, old);
    await scene.db.query(
      `insert into deliveries (organization_id, mode, email_id, position, domain_id, recipient, destination, category,
         state, due_at, first_due_at)
       values ($1, 'live', $2, 0, $1, 'r@x.example', 'x.example', 'transactional', 'waiting', now(), now())`,
      [scene.mail.tenant.organizationId, old],
    );
    expect(await run()).toEqual({ kept: 1, partitions: 0, rows: 0 });
    await scene.db.query('delete from deliveries where email_id = $1', [old]);
    expect(await run()).toEqual({ kept: 0, partitions: 0, rows: 2 });
    expect((await scene.mail.read(id)).email.id).toBe(id);
  });

  it('is no error for clients that read, write or follow the events meanwhile', async () => {
    const ids = [await scene.delivered(), await scene.delivered(), await scene.delivered()];
    const feed = scene.mail.core.get(EventsService);
    const { organizationId } = scene.mail.tenant;
    const stream = { organizationId, mode: 'live' as const, after: firstIdAt(new Date(0)) };
    const position = (await feed.readAfter([stream], 2))[0]?.at(-1)?.id ?? '';
    toMonth(monthOfEmail(ids[0] as string), 14);
    const otherWorker = (await scene.startOtherWorker()).get(PartitionRetentionService);
    const removal = Promise.all([run(), otherWorker.run()]);
    const emails = scene.mail.core.get(EmailsService);
    for (let round = 0; round < 20; round += 1) {
      for (const id of ids) {
        const found = await emails.detail(viewer(), id).catch((error: { code: string }) => error.code);
        expect(typeof found === 'string' ? found : found.recipients).toBeDefined();
        if (typeof found === 'string') expect(found).toBe('resource_not_found');
      }
      await list();
      await feed.readAfter([stream], 10);
    }
    const [one, other] = await removal;
    expect(one.partitions + other.partitions).toBe(MONTHLY_TABLES.length);
    expect(await feed.readAfter([{ ...stream, after: position }], 10)).toEqual([[]]);
    const fresh = await scene.mail.accept();
    expect(await feed.readAfter([{ ...stream, after: position }], 10)).toMatchObject([[{ emailId: fresh }]]);
  });

  it('waits for a table while another process changes partitions, so that none is left', async () => {
    const month = monthOfEmail(await scene.delivered());
    const partitions = scene.worker.get(RetentionRepository);
    let drop: Promise<Dropped> | undefined;
    await scene.db.database.transaction(async (tx) => {
      expect(await partitions.lockPartitions(tx)).toBe(true);
      drop = partitions.dropPartition({ table: 'email_contents', month });
      await waitFor(isOneWaiting, { what: 'the removal to wait' });
    });
    expect(await drop).toBe('dropped');
  });

  async function isOneWaiting(): Promise<boolean> {
    const waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    return (await scene.db.query(waiting)).length > 0;
  }

  async function insertOld(organizationId: string, id: string): Promise<void> {
    await scene.db.query(
      `insert into emails (organization_id, mode, id, domain_id, status, from_email, subject, to_emails, category,
         track_opens, track_clicks, event_sequence, created_at, updated_at)
       values ($1, 'live', $2, $1, 'sent', 'a@x.example', 'Hi', '{r@x.example}', 'transactional', true, true, 1, now(), now())`,
      [organizationId, id],
    );
    await scene.db.query(
      `insert into email_recipients (organization_id, mode, email_id, position, kind, address, status, updated_at)
       values ($1, 'live', $2, 0, 'to', 'r@x.example', 'sent', now())`,
      [organizationId, id],
    );
  }
});
