import { DAY } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

describe('the audit log', () => {
  let db: OpenTestDatabase;
  beforeAll(async () => (db = await openTestDatabase({ poolSize: 1 })));
  afterAll(() => db.drop());

  async function insert(ageDays: number): Promise<string> {
    const id = newId();
    await db.query(
      `insert into audit_log (organization_id, id, occurred_at, actor, action, target_type, target_id)
       values ($1, $1, $2, 'operator', 'thing.changed', 'thing', '1')`,
      [id, new Date(Date.now() - ageDays * DAY)],
    );
    return id;
  }

  it.each([
    ['changed', 'update audit_log set actor = $1 where id = $1'],
    ['deleted', 'delete from audit_log where id = $1'],
    ['deleted with old ones', 'delete from audit_log where id >= $1 or occurred_at < now()'],
  ])('cannot be %s', async (_what, statement) => {
    await insert(1_000);
    const id = await insert(26);
    await expect(db.query(statement, [id])).rejects.toThrow('audit_log is append-only');
    expect(await db.query('select from audit_log where id = $1', [id])).toHaveLength(1);
  });

  it('cannot be emptied', async () => {
    await insert(1_000);
    await expect(db.query('truncate audit_log')).rejects.toThrow('audit_log is append-only');
  });

  it('loses what is old to retention', async () => {
    const id = await insert(28);
    await db.query('delete from audit_log where id = $1', [id]);
    expect(await db.query('select from audit_log where id = $1', [id])).toEqual([]);
  });
});
