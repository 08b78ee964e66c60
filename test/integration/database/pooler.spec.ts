import { ConfigurationError } from '../../../src/config/load-config';
import { Database } from '../../../src/database/pool/database.service';
import { openDatabase } from '../../../src/database/start/open-database';
import { EmailsService } from '../../../src/modules/emails/emails.service';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { SmtpSink } from '../../doubles/smtp-sink';
import { TransactionPooler } from '../../doubles/transaction-pooler';
import { sendBody } from '../../factories/send-requests';
import { readStoredEmail } from '../../factories/stored-email';
import { testConfig, startCore } from '../../setup/core-context';
import { createSigningTenant } from '../../setup/delivery-scene';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';
import { waitFor } from '../../setup/wait-for';
import { startWorker } from '../../setup/worker-context';

describe('behind a pooler that shares connections by transaction', () => {
  let db: OpenTestDatabase;
  let pooler: TransactionPooler;
  let env: Record<string, string>;

  beforeAll(async () => {
    db = await openTestDatabase();
    pooler = await TransactionPooler.start(db.url, 3);
    env = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: db.url };
  });
  afterAll(async () => {
    await pooler.stop();
    await db.drop();
  });

  it('mail is accepted, sent and listed, by fewer connections than processes have', async () => {
    const sink = await SmtpSink.start();
    const core = await startCore(pooler.url, { env });
    const tenant = await createSigningTenant(core);
    const worker = await startWorker(pooler.url, { hopPort: sink.port, env });
    try {
      const send = async () =>
        (await core.get(SendEmailsService).sendOne(sendBody({}), undefined, tenant.as('live'))).accepted.id;
      const ids = (await Promise.all(Array.from({ length: 30 }, send))).concat(await send());
      await waitFor(() => sink.messages.length === ids.length, { what: 'all of them to arrive' });
      for (const id of ids) {
        await waitFor(async () => (await readStoredEmail(db, id)).email.status === 'sent', { what: 'the result' });
      }
      const { data, total } = await listOf(core.get(EmailsService), tenant.as('live'));
      expect([data.length, total]).toEqual([20, ids.length]);
      expect(pooler.moves).toBeGreaterThan(20);
    } finally {
      await worker.close();
      await core.close();
      await sink.stop();
    }
  });

  it('a failed statement leaves nothing behind for the next transaction', async () => {
    const core = await startCore(pooler.url, { env });
    const database = core.get(Database);
    const bad = { name: 'bad', text: 'select 1 / $1::int as n', values: [0] };
    await expect(database.run(bad)).rejects.toMatchObject({ code: '22012' });
    for (let n = 1; n < 8; n += 1) expect(await database.run({ ...bad, values: [1] })).toEqual([{ n: 1 }]);
    await core.close();
  });

  it('migrations take the direct way, with their lock', async () => {
    const options = { log: () => undefined, migrate: true, waitSeconds: 0 };
    const { applied, directUrl } = await openDatabase(testConfig(env), options);
    expect({ applied, directUrl }).toEqual({ applied: [], directUrl: db.url });
    const before = pooler.leaks.length;
    const warnings: string[] = [];
    const warn = (message: string) => void warnings.push(message);
    await openDatabase(testConfig({ DATABASE_URL: pooler.url }), { ...options, warn });
    expect(warnings).toEqual([expect.stringContaining('shares its sessions: set DATABASE_DIRECT_URL')]);
    // So the pooler notices: without the direct way, the lock would have been taken on another session's connection.
    expect(pooler.leaks.splice(before).join()).toContain('_advisory_lock(');
  });

  it('nothing of all that belonged to a session', () => {
    expect(pooler.leaks).toEqual([]);
  });
});

it.each([1, 2, 3])('a pooler of %i connections that loses prepared statements is refused', async (size) => {
  const db = await openTestDatabase();
  const pooler = await TransactionPooler.start(db.url, size, false);
  try {
    const config = testConfig({ DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: db.url });
    const opening = openDatabase(config, { log: () => undefined, waitSeconds: 0 });
    await expect(opening).rejects.toThrow(/loses prepared statements: PgBouncer 1\.21 or later/);
    await expect(opening).rejects.toBeInstanceOf(ConfigurationError);
  } finally {
    await pooler.stop();
    await db.drop();
  }
});

async function listOf(emails: EmailsService, tenant: Parameters<EmailsService['list']>[0]) {
  const { emails: data, total } = await emails.list(tenant, {}, { page: 1, limit: 20 });
  return { data, total };
}
