import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type MappedColumn, readDataMap, unmapped, withDataMap } from '../../setup/data-map';
import { ERASED_COLUMNS } from '../privacy/erased-columns';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

const PAGE = join(__dirname, '../../../docs/data-map.md');

describe('the data map', () => {
  let db: OpenTestDatabase;
  let columns: MappedColumn[];

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 1 });
    columns = await readDataMap(db);
  });
  afterAll(() => db.drop());

  it('states for every column the personal data in it, the purpose and the retention', () => {
    expect(columns.length).toBeGreaterThan(250);
    expect(unmapped(columns)).toEqual([]);
  });

  it('holds no column with personal data that no erasure covers', () => {
    const showing = columns.filter(({ comment }) => /^pii: (?:address|name|content|text|ip);/.test(comment ?? ''));
    const names = showing.map(({ table, column }) => `${table}.${column}`);
    expect(names.toSorted()).toEqual(Object.keys(ERASED_COLUMNS).toSorted());
  });

  it('notices a column of which nothing is said', async () => {
    await db.query('create table strangers (name text)');
    expect(unmapped(await readDataMap(db))).toEqual(['strangers.name']);
  });

  // After a change of the schema: UPDATE_DATA_MAP=1 npx jest --selectProjects integration -- data-map
  it('is in docs/data-map.md', () => {
    const page = readFileSync(PAGE, 'utf8');
    const wanted = withDataMap(page, columns);
    if (process.env.UPDATE_DATA_MAP === '1') writeFileSync(PAGE, wanted);
    else expect(page).toBe(wanted);
  });
});
