import { NestFactory } from '@nestjs/core';
import { ProcessModule } from '../../../src/bootstrap/process.module';
import { loadConfig } from '../../../src/config/load-config';
import { MasterKeyRecord } from '../../../src/database/installation/installation.repository';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';

const keyOf = (name: string) => Buffer.alloc(32, name).toString('base64');

describe('the record of the master key', () => {
  let database: TestDatabase;
  const closing: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(async () => {
    for (const close of closing) await close();
    await database.drop();
  });

  /** Of a process with these keys. */
  async function recordWith(masterKey: string, previous?: string, roles = 'api'): Promise<MasterKeyRecord> {
    const keys = { MASTER_KEY: keyOf(masterKey), ...(previous && { MASTER_KEY_PREVIOUS: keyOf(previous) }) };
    const config = loadConfig({ ...keys, DATABASE_URL: database.url, WAYBILL_ROLES: roles });
    const module = ProcessModule.register({ config, databaseUrl: database.url, imports: [] });
    const app = await NestFactory.createApplicationContext(module, { logger: false });
    closing.push(() => app.close());
    return app.get(MasterKeyRecord);
  }

  it('goes along with a change of the key, and names processes that were left out of it', async () => {
    const [before, knows, uses, after] = [
      await recordWith('old'),
      await recordWith('old', 'new'),
      await recordWith('new', 'old'),
      await recordWith('new'),
    ];
    const known = () => Promise.all([before, knows, uses, after].map((record) => record.isKnown()));
    expect(await known()).toEqual([true, true, true, true]);
    expect(await before.adopt()).toBe(true);
    expect(await after.adopt()).toBe(false);
    expect(await known()).toEqual([true, true, true, false]);
    expect([await knows.adopt(), await knows.isCurrent()]).toEqual([true, true]);
    expect([await uses.isCurrent(), await uses.adopt()]).toEqual([false, true]);
    // Another start of a process that the change has not come to yet, and that of the last one.
    expect([await knows.adopt(), await uses.adopt(), await after.adopt()]).toEqual([true, true, true]);
    expect(await known()).toEqual([false, true, true, true]);
    expect(await before.adopt()).toBe(false);
    // The responder of DKIM keys needs none.
    expect(await (await recordWith('old', undefined, 'dns')).isKnown()).toBe(true);
  });

  it('takes the key that everything has been encrypted under', async () => {
    const other = await recordWith('other');
    await other.replace(Buffer.alloc(32, 'other'));
    expect([await other.isCurrent(), await (await recordWith('new')).isKnown()]).toEqual([true, false]);
  });
});
