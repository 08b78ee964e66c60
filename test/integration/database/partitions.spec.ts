import { firstIdAt, newId } from '../../../src/common/ids';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

const ZONES = ['UTC', 'America/New_York', 'Europe/Berlin', 'Pacific/Auckland', 'Asia/Kolkata'];

describe('monthly partitions', () => {
  let db: OpenTestDatabase;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 4 });
  });
  afterAll(() => db.drop());

  async function createParent(name: string): Promise<void> {
    await db.query(`create table ${name} (id uuid primary key) partition by range (id);
                    create table ${name}_default partition of ${name} default`);
  }

  /** Name and bounds of each partition but the default one. */
  async function partitionsOf(parent: string) {
    const rows = await db.query<{ name: string; bounds: string }>(
      `select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bounds
       from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = $1::regclass and c.relname <> $1 || '_default'
       order by c.relname`,
      [parent],
    );
    return rows.map(({ name, bounds }) => {
      const [from, to] = [...bounds.matchAll(/'([0-9a-f-]{36})'/g)].map((match) => match[1]);
      return { name, from, to };
    });
  }

  /** What the months of the calendar (UTC) ask for. */
  function expected(parent: string, months: number) {
    const now = new Date();
    const monthAt = (step: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + step, 1));
    return Array.from({ length: months }, (_, step) => ({
      name: `${parent}_${monthAt(step).toISOString().slice(0, 7).replace('-', '_')}`,
      from: firstIdAt(monthAt(step)),
      to: firstIdAt(monthAt(step + 1)),
    }));
  }

  it.each(ZONES)('are months in UTC, whatever the time zone of the session (%s)', async (zone) => {
    const parent = `months_${ZONES.indexOf(zone)}`;
    await createParent(parent);
    await db.query(`set timezone to '${zone}'; call create_month_partitions('${parent}', 18); set timezone to 'UTC'`);
    expect(await partitionsOf(parent)).toEqual(expected(parent, 19));
  });

  it('are made once, also by several at the same time', async () => {
    await createParent('busy');
    await Promise.all([1, 2, 3, 4].map(() => db.query(`call create_month_partitions('busy', 3)`)));
    expect(await partitionsOf('busy')).toEqual(expected('busy', 4));
  });

  it('take the ids that are made now; others find a place too', async () => {
    await createParent('filled');
    await db.query(`call create_month_partitions('filled', 1)`);
    await db.query('insert into filled values ($1), ($2)', [newId(), firstIdAt(new Date('2200-01-01'))]);
    const rows = await db.query('select tableoid::regclass::text as name from filled order by id');
    expect(rows).toEqual([{ name: expected('filled', 1)[0]?.name }, { name: 'filled_default' }]);
  });

  it('store attachments as they came, in every month', async () => {
    await db.query("call create_month_partitions('email_attachments', 6)");
    const rows = await db.query(
      `select t.relid::regclass::text as name, a.attstorage as storage
       from pg_partition_tree('email_attachments') t
       join pg_attribute a on a.attrelid = t.relid and a.attname = 'content'`,
    );
    expect(rows.length).toBeGreaterThan(6);
    expect(rows.filter(({ storage }) => storage !== 'e')).toEqual([]);
  });

  it('end with what a delivery changes in emails, so that the log of a result holds no more than that', async () => {
    await db.query("select add_month_partition('emails', '2527-06-01', 0)");
    const rows = await db.query<{ month: string; last: string[] }>(
      `select c.relname as month, (array_agg(a.attname::text order by a.attnum desc))[1:4] as last
       from pg_inherits i
       join pg_class c on c.oid = i.inhrelid
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       where i.inhparent = 'emails'::regclass
       group by c.relname`,
    );
    expect(rows.map(({ month }) => month)).toEqual(expect.arrayContaining(['emails_2527_06', 'emails_default']));
    for (const { last } of rows) expect(last).toEqual(['status', 'event_sequence', 'updated_at', 'sent_at']);
  });
});
