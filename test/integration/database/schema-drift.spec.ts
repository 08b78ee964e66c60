import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type DataSource, getMetadataArgsStorage } from 'typeorm';
import { createDataSource } from '../../../src/database/pool/data-source';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';

/**
 * Migrations are written by hand, and some of what they make is no entity's business: indexes, check constraints, and
 * defaults of columns that the entity always writes, comments for the data map.
 */
const IGNORED = [
  /^COMMENT ON COLUMN /,
  /^DROP INDEX /,
  /^ALTER TABLE "\w+" DROP CONSTRAINT "\w+_check"$/,
  /^ALTER TABLE "\w+" ALTER COLUMN "\w+" DROP DEFAULT$/,
];

const SRC = join(__dirname, '../../../src');

describe('the schema', () => {
  let testDatabase: TestDatabase;
  let dataSource: DataSource;

  beforeAll(async () => {
    const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.entity.ts'));
    for (const file of files) await import(join(SRC, file));
    const entities = getMetadataArgsStorage().tables.map(({ target }) => target as new () => object);
    testDatabase = await createTestDatabase();
    dataSource = await createDataSource(testDatabase.url, { poolSize: 1, entities }).initialize();
  });
  afterAll(async () => {
    await dataSource.destroy();
    await testDatabase.drop();
  });

  it('matches the entities', async () => {
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query).filter((query) => !IGNORED.some((noise) => noise.test(query)))).toEqual(
      [],
    );
  });

  it('has a table for every entity', async () => {
    const rows = await dataSource.query<{ name: string }[]>(
      `select table_name as name from information_schema.tables where table_schema = 'public'`,
    );
    const tables = new Set(rows.map(({ name }) => name));
    expect(dataSource.entityMetadatas.map(({ tableName }) => tableName).filter((name) => !tables.has(name))).toEqual(
      [],
    );
    expect(dataSource.entityMetadatas.length).toBeGreaterThan(8);
  });
});
