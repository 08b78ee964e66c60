import type { PoolClient } from 'pg';
import { newId } from '../../../src/common/ids';
import { poolOf } from '../../../src/database/pool/data-source';
import type { Statement } from '../../../src/database/statements/statement';
import {
  listSubjectEmails,
  readSubjectEmails,
  readSubjectEvents,
} from '../../../src/modules/emails/privacy/sql/subject-emails.sql';
import { storeManyEmails } from '../../factories/subject-emails';
import { explainBoth } from '../../setup/explain';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

const SCOPE = { organizationId: newId(), mode: 'live', address: 'ada@example.com' } as const;
const COUNT = 5_000;

/** Without statistics, as a table is that has just been filled: then the wrong index looks as good as the right one. */
describe('among many emails of a tenant', () => {
  let db: OpenTestDatabase;
  let client: PoolClient;
  let after: string;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 1 });
    await storeManyEmails(db, { organizationId: SCOPE.organizationId, to: SCOPE.address, count: COUNT });
    [{ id: after }] = (await db.query('select id from emails order by id offset $1', [COUNT - 101])) as [
      { id: string },
    ];
    client = await poolOf(db.dataSource).connect();
  });
  afterAll(async () => {
    client.release();
    await db.drop();
  });

  const list = () => listSubjectEmails(SCOPE, { after, before: newId() }, { emails: 100, bytes: 1e9 });

  async function expectKeysOnly(statement: Statement<unknown>): Promise<void> {
    const nodes = await explainBoth(client, statement);
    const executed = nodes.filter((node) => (node['Actual Loops'] ?? 0) > 0);
    expect(executed.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    expect(executed.filter((node) => (node['Rows Removed by Filter'] ?? 0) > 0)).toEqual([]);
    expect(Math.max(...executed.map((node) => (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 0)))).toBeLessThan(
      301,
    );
  }

  it('the last page is found by its keys alone', () => expectKeysOnly(list()));

  it.each([
    ['emails', readSubjectEmails],
    ['events', readSubjectEvents],
  ] as const)('the %s of a page are read by their keys alone', async (_name, read) => {
    const { rows } = await client.query<{ id: string }>(list().text, list().values);
    expect(rows).toHaveLength(100);
    await expectKeysOnly(
      read(
        SCOPE,
        rows.map(({ id }) => id),
      ),
    );
  });
});
