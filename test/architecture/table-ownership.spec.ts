import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const SRC = join(__dirname, '../../src');

/** A table has one owner folder; others go through the owner's service. */
const OWNERS: Record<string, string> = {
  organizations: 'auth',
  api_keys: 'auth',
  domains: 'modules/domains',
  dkim_keys: 'modules/domains',
  domain_checks: 'modules/domains',
  removed_domains: 'modules/domains',
  warm_up_usage: 'modules/domains',
  audit_log: 'audit',
  emails: 'modules/emails',
  email_contents: 'modules/emails',
  email_attachments: 'modules/emails',
  email_recipients: 'modules/emails',
  email_events: 'modules/emails',
  idempotency_keys: 'modules/emails',
  test_usage: 'modules/emails',
  stats_checks: 'modules/emails',
  deliveries: 'delivery',
  worker_sessions: 'delivery',
  suppressions: 'modules/suppressions',
  soft_bounces: 'modules/suppressions',
  suppression_hash_keys: 'modules/suppressions',
  stats_hourly: 'modules/stats',
  stats_deltas: 'modules/stats',
  job_leases: 'database',
  throttle_hits: 'throttling',
  mailbox_messages: 'modules/mailbox',
  inbound_reports: 'modules/inbound',
  feedback_reports: 'modules/inbound',
  privacy_requests: 'modules/privacy',
  privacy_export_parts: 'modules/privacy',
  webhook_endpoints: 'modules/webhooks',
  webhook_messages: 'modules/webhooks',
  webhook_replays: 'modules/webhooks',
  webhook_removals: 'modules/webhooks',
};

/** Folders that read another folder's tables, and why. */
const READERS: Record<string, readonly string[]> = {
  // The event log is the outbox (docs/adr/0017): the feed reads what the outcomes of emails have written.
  'modules/events': ['email_events', 'emails'],
};

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file));
}

const WRITES = /\b(?:insert into|delete from|update [a-z_]+ set)\b/i;
const files = filesBelow(SRC).filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'));
const read = (file: string) => readFileSync(file, 'utf8');
const owns = (table: string, file: string) => relative(SRC, file).startsWith(`${OWNERS[table]}/`);
const reads = (table: string, file: string) =>
  Object.entries(READERS).some(
    ([folder, tables]) =>
      relative(SRC, file).startsWith(`${folder}/`) && tables.includes(table) && !WRITES.test(read(file)),
  );
const TABLE_USE = /\b(?:from|join|into|update|using)\s+([a-z_]+)\b/gi;

/** Names of tables that a text reads or writes; common table expressions and aliases are not tables. */
function tablesIn(text: string): string[] {
  const named = [...text.matchAll(TABLE_USE)].map((match) => (match[1] ?? '').toLowerCase());
  return [...new Set(named)].filter((name) => name in OWNERS);
}

describe('tables', () => {
  const migrations = files
    .filter((file) => file.includes('/migrations/'))
    .map(read)
    .join('\n');
  const created = [...migrations.matchAll(/create (?:unlogged )?table (\w+) \(/gi)].map((match) => match[1] ?? '');

  it('each have one owner', () => {
    expect([...created].sort()).toEqual(Object.keys(OWNERS).sort());
  });

  it.each(files.filter((file) => file.endsWith('.sql.ts')).map((file) => [relative(SRC, file), file]))(
    'of other folders stay out of %s',
    (_name, file) => {
      expect(
        tablesIn(
          read(file)
            .replace(/^\/\/.*$/gm, '')
            .replace(/\/\*[\s\S]*?\*\//g, ''),
        ).filter((table) => !owns(table, file) && !reads(table, file)),
      ).toEqual([]);
    },
  );

  it.each(files.filter((file) => file.endsWith('.entity.ts')).map((file) => [relative(SRC, file), file]))(
    '%s maps a table of its own folder',
    (_name, file) => {
      const table = /@Entity\('(\w+)'\)/.exec(read(file))?.[1] ?? '';
      expect(owns(table, file)).toBe(true);
    },
  );

  it('are asked by statements with an explaining header', () => {
    const bare = files.filter((file) => file.endsWith('.sql.ts') && !read(file).startsWith('//'));
    expect(bare.map((file) => relative(SRC, file))).toEqual([]);
  });
});

describe('files', () => {
  it('stay within the budget of lines', () => {
    const lines = files.map((file) => read(file).split('\n').length).sort((one, other) => one - other);
    expect(lines.at(-1)).toBeLessThanOrEqual(300);
    expect(lines[Math.floor(lines.length * 0.9)]).toBeLessThanOrEqual(180);
    expect(lines[Math.floor(lines.length / 2)]).toBeLessThanOrEqual(60);
  });

  it('are no barrels', () => {
    expect(files.filter((file) => file.endsWith('/index.ts'))).toEqual([]);
  });

  it('take the environment from config alone', () => {
    const others = files.filter((file) => !file.includes('/config/') && read(file).includes('process.env'));
    expect(others.map((file) => relative(SRC, file))).toEqual([]);
  });
});
