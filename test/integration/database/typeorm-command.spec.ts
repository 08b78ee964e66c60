import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { MIGRATIONS } from '../../../src/database/schema/migrations';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';

const ROOT = path.join(__dirname, '../../..');

describe('TypeORM’s command line', () => {
  let database: TestDatabase;
  beforeAll(async () => (database = await createTestDatabase()));
  afterAll(() => database.drop());

  /** `npm run typeorm -- <command>`, as a developer runs it. */
  async function typeorm(command: string): Promise<string> {
    const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'typeorm', '--', command], {
      cwd: ROOT,
      env: { ...process.env, DATABASE_URL: database.url },
    });
    return stdout;
  }

  it('finds every entity and shows every migration as applied', async () => {
    const lines = (await typeorm('migration:show')).split('\n').filter((line) => /\[[X ]\]/.test(line));
    expect(lines).toHaveLength(MIGRATIONS.length);
    expect(lines.filter((line) => !line.includes('[X]'))).toEqual([]);
  });
});
