import { assertDisposable, createTestDatabase } from '../../setup/test-database';
import { query } from './support';

describe('a test database', () => {
  it('is a fresh copy of the template, alone in the world', async () => {
    const [one, two] = await Promise.all([createTestDatabase(), createTestDatabase()]);
    await query(one.url, 'CREATE TABLE mine (id int)');
    expect(await query(two.url, `SELECT to_regclass('mine') AS found`)).toEqual([{ found: null }]);
    const [migrations] = await query<{ count: number }>(
      two.url,
      'SELECT count(*)::int AS count FROM schema_migrations',
    );
    expect(migrations?.count).toBeGreaterThan(0);

    await Promise.all([one.drop(), two.drop()]);
    await expect(query(one.url, 'SELECT 1')).rejects.toThrow('does not exist');
  });

  it('is never made on a server that could matter', () => {
    expect(() => assertDisposable('postgres://u:p@127.0.0.1/waybill')).toThrow('"waybill"');
    expect(() => assertDisposable('postgres://u:p@127.0.0.1/waybill_test')).not.toThrow();
  });
});
