import { DAY } from '../../../src/common/clock';
import { UnavailableError } from '../../../src/common/errors/app-error';
import { Metrics } from '../../../src/common/metrics/metrics';
import { EmailListService } from '../../../src/modules/emails/email-list.service';
import { PartitionCreationService } from '../../../src/modules/emails/retention/partitions.service';
import { monthOf, MONTHLY_TABLES } from '../../../src/modules/emails/retention/months';
import { PartitionsJob } from '../../../src/modules/emails/retention/retention.job';
import { monthOfEmail, partitionOf, RetentionScene } from './retention-scene';

describe('partitions of the months', () => {
  let scene: RetentionScene;
  beforeEach(async () => (scene = await RetentionScene.open()));
  afterEach(() => scene.close());

  const create = () => scene.worker.get(PartitionCreationService).run();
  const emptied = { ahead: 3, defaultRows: new Map(MONTHLY_TABLES.map((table) => [table, 0])) };

  it('are made three months ahead, as time goes on, and by several processes at once', async () => {
    expect(await create()).toEqual(emptied);
    const later = monthOf(scene.clock.now(), 5);
    scene.clock.set(later);
    const other = (await scene.startOtherWorker()).get(PartitionCreationService);
    await Promise.all([create(), other.run()]);
    expect(await create()).toEqual(emptied);
    for (const month of [later, monthOf(later, 3)]) expect(await scene.partitions(month)).toEqual(MONTHLY_TABLES);
    expect(await scene.partitions(monthOf(later, 4))).toEqual([]);
  });

  it('are counted as they are, when a table stays locked and none can be made', async () => {
    await scene.worker.start();
    const job = scene.worker.get(PartitionsJob);
    await job.createPartitions();
    const shown = () => scene.worker.get(Metrics).registry.getSingleMetricAsString('waybill_partitions_ahead');
    expect(await shown()).toContain('waybill_partitions_ahead 3');
    scene.clock.set(monthOf(scene.clock.now(), 2));
    await scene.database.transaction(async ({ manager }) => {
      await manager.query('lock table emails in share mode');
      await expect(job.createPartitions()).rejects.toThrow(UnavailableError);
    });
    expect(await shown()).toContain('waybill_partitions_ahead 1');
  });

  it('look like their siblings', async () => {
    const month = monthOf(scene.clock.now(), 4);
    scene.clock.set(monthOf(scene.clock.now(), 1));
    await create();
    const shapeOf = async (name: string) => {
      const indexes = await scene.db.query(
        `select regexp_replace(indexdef, '^.* USING', '') as index from pg_indexes where tablename = $1 order by 1`,
        [name],
      );
      const [options] = await scene.db.query('select reloptions from pg_class where oid = $1::regclass', [name]);
      const constraints = await scene.db.query(
        `select conname, pg_get_constraintdef(oid) as text from pg_constraint
         where conrelid = $1::regclass and contype = 'c' order by conname`,
        [name],
      );
      // 100 is what it is without being named.
      const parameters = ((options?.reloptions ?? []) as string[]).filter((one) => one !== 'fillfactor=100');
      return { indexes, parameters, constraints };
    };
    for (const table of MONTHLY_TABLES) {
      expect(await shapeOf(partitionOf(table, month))).toEqual(await shapeOf(partitionOf(table, monthOf(month, -2))));
    }
  });

  it('take in what came while they were missing: nothing is lost, and ids are found all along', async () => {
    const before = await scene.mail.accept({ attachments: [{ filename: 'a.txt', content: 'YQ==' }] });
    const month = monthOfEmail(before);
    await scene.forgetMonth(month);
    const ids = await scene.mail.acceptTo('a', 'b', 'c');
    for (const id of ids) expect(new Set(Object.values(await scene.placesOf(id)).flat())).toEqual(defaults(false));
    const stored = await Promise.all(ids.map((id) => scene.mail.read(id)));

    const made = scene.worker.get(PartitionCreationService).run();
    const found = ids.map((id) => scene.mail.read(id));
    expect(await Promise.all(found)).toEqual(stored);
    expect(await made).toEqual(emptied);
    expect(await Promise.all(ids.map((id) => scene.mail.read(id)))).toEqual(stored);
    for (const [index, id] of ids.entries()) {
      expect(stored[index]?.email.id).toBe(id);
      expect((await scene.placesOf(id)).emails).toEqual([partitionOf('emails', month)]);
    }
    await scene.tell(ids[0] as string, { kind: 'delivered' });
    expect((await scene.mail.read(ids[0] as string)).email.status).toBe('delivered');
  });

  it('take in a month that has gone by, too', async () => {
    const id = await scene.mail.accept();
    const month = monthOfEmail(id);
    const stored = await scene.mail.read(id);
    for (const table of MONTHLY_TABLES) await detachIntoDefault(table, partitionOf(table, month));
    scene.clock.advance(80 * DAY);
    const { defaultRows } = await create();
    expect(defaultRows.get('emails')).toBe(0);
    expect(await scene.mail.read(id)).toEqual(stored);
    expect((await scene.placesOf(id)).email_events).toEqual([partitionOf('email_events', month)]);
  });

  it('are made while mail comes in, and refuse none of it', async () => {
    const month = monthOf(new Date());
    await scene.forgetMonth(month);
    const accepted: Promise<string[]>[] = [];
    for (let round = 0; round < 10; round += 1) accepted.push(scene.mail.acceptTo(`a${round}`, `b${round}`));
    const made = create();
    for (let round = 10; round < 20; round += 1) accepted.push(scene.mail.acceptTo(`a${round}`, `b${round}`));
    const ids = (await Promise.all(accepted)).flat();
    await made;
    await create();
    for (const id of ids) expect((await scene.placesOf(id)).emails).toEqual([partitionOf('emails', month)]);
    const { total } = await scene.mail.core
      .get(EmailListService)
      .page(scene.mail.tenant.as('live'), {}, { page: 1, limit: 10 });
    expect(total).toBe(40);
  });

  it('do not move more than may wait: that stays where it is, and is found', async () => {
    const month = monthOf(new Date());
    await scene.forgetMonth(month);
    const id = await scene.mail.accept();
    const add = (bytes: number) =>
      scene.db.query('select add_month_partition($1, $2, $3) as result', [
        'emails',
        month.toISOString().slice(0, 10),
        bytes,
      ]);
    expect(await add(1)).toEqual([{ result: 'too_large' }]);
    expect((await scene.placesOf(id)).emails).toEqual(['emails_default']);
    expect(await add(2 ** 30)).toEqual([{ result: 'created' }]);
    expect(await add(2 ** 30)).toEqual([{ result: 'present' }]);
    expect((await scene.placesOf(id)).emails).toEqual([partitionOf('emails', month)]);
  });

  function defaults(withAttachments: boolean): Set<string> {
    const tables = MONTHLY_TABLES.filter((table) => withAttachments || table !== 'email_attachments');
    return new Set(tables.map((table) => `${table}_default`));
  }

  async function detachIntoDefault(table: string, partition: string): Promise<void> {
    await scene.db.query(`alter table ${table} detach partition ${partition}`);
    // By name: a month can have another order of columns.
    const [columns] = await scene.db.query<{ names: string }>(
      `select string_agg(quote_ident(attname), ', ') as names from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and not attisdropped`,
      [table],
    );
    await scene.db.query(`insert into ${table} (${columns?.names}) select ${columns?.names} from ${partition}`);
    await scene.db.query(`drop table ${partition}`);
  }
});
