import { sourcesNamed } from './source-files';

/**
 * A table has one owner folder; others go through the owner's service. A new table: add it here with the folder of its
 * feature, and give it an entity there.
 */
const OWNERS: Record<string, string> = {
  organizations: 'auth',
  api_keys: 'auth',
  operator_keys: 'auth',
  console_sessions: 'auth',
  console_links: 'auth',
  domains: 'modules/domains',
  dkim_keys: 'modules/domains',
  domain_checks: 'modules/domains',
  removed_domains: 'modules/domains',
  tls_results: 'modules/domains',
  warm_up_usage: 'modules/domains',
  audit_log: 'audit',
  emails: 'modules/emails',
  email_contents: 'modules/emails',
  email_attachments: 'modules/emails',
  email_recipients: 'modules/emails',
  email_events: 'modules/emails',
  idempotency_keys: 'modules/emails',
  test_usage: 'modules/emails',
  monthly_usage: 'modules/emails',
  stats_checks: 'modules/emails',
  deliveries: 'delivery',
  worker_sessions: 'delivery',
  queue_measures: 'delivery',
  queue_actions: 'delivery',
  destination_reports: 'delivery',
  destination_rules: 'delivery',
  egress_suspensions: 'delivery',
  block_list_checks: 'delivery',
  egress_addresses: 'delivery',
  egress_volumes: 'delivery',
  mta_sts_policies: 'delivery',
  tls_sessions: 'delivery',
  suppressions: 'modules/suppressions',
  missing_domains: 'modules/suppressions',
  soft_bounces: 'modules/suppressions',
  suppression_hash_keys: 'modules/suppressions',
  dmarc_sources: 'modules/domains',
  stats_hourly: 'modules/stats',
  stats_deltas: 'modules/stats',
  stats_providers: 'modules/stats',
  sending_rates: 'modules/stats',
  job_leases: 'database',
  backfill_runs: 'database',
  master_key_record: 'database',
  throttle_hits: 'throttling',
  mailbox_messages: 'modules/local-mailbox',
  inbound_reports: 'modules/inbound-reports',
  feedback_reports: 'modules/inbound-reports',
  inbound_routes: 'modules/inbound-mail',
  inbound_emails: 'modules/inbound-mail',
  inbound_email_parts: 'modules/inbound-mail',
  inbound_usage: 'modules/inbound-mail',
  privacy_requests: 'modules/privacy',
  privacy_export_parts: 'modules/privacy',
  templates: 'modules/templates',
  template_versions: 'modules/templates',
  webhook_endpoints: 'modules/webhooks',
  webhook_messages: 'modules/webhooks',
  webhook_replays: 'modules/webhooks',
  webhook_removals: 'modules/webhooks',
};

/** Folders that read another folder's tables, and why. */
const READERS: Record<string, readonly string[]> = {
  // The event log is the outbox (docs/adr/0017): the feed reads what the outcomes of emails have written.
  // Inbound mail is its own event (docs/adr/0029).
  'modules/events': ['email_events', 'emails', 'inbound_emails'],
  // The listener's process does not load domains, emails or webhooks, but must check whether these exist.
  'modules/inbound-mail': ['domains', 'emails', 'webhook_endpoints'],
  // For which hosts an MX is wanted.
  'modules/domains': ['inbound_routes'],
};

/** Tables whose rows are no single organization's, and why: row-level security (docs/adr/0023) cannot keep them apart. */
const NO_TENANT: Record<string, string> = {
  worker_sessions: 'of the processes',
  queue_measures: 'one row, about the queue of all',
  destination_reports: 'what workers meet at receivers, with mail of any organization',
  destination_rules: 'of the installation',
  egress_suspensions: 'of the installation’s addresses',
  block_list_checks: 'of the installation’s addresses',
  egress_addresses: 'of the installation',
  egress_volumes: 'counters of the installation’s addresses',
  mta_sts_policies: 'what receiving domains publish',
  tls_sessions: 'what all mail to a receiving domain met',
  job_leases: 'of the processes',
  backfill_runs: 'of the installation',
  master_key_record: 'of the installation',
  operator_keys: 'operators belong to no organization',
  queue_actions: 'what operators do, to deliveries of any organization',
  sending_rates: 'sums over all organizations',
  stats_checks: 'days whose counters have been compared, of all organizations at once',
  throttle_hits: 'counters by client address, key or organization, which hold no content',
  mailbox_messages: 'a development machine’s mailbox shows all mail; its route sees all rows',
};
const ADVICE =
  'write "organization_id uuid not null" in its migration, first in its primary key (its policy and the rights of requests ' +
  'come by themselves at the end of `migrate`), or say in NO_TENANT why its rows belong to no single organization';

const WRITES = /\b(?:insert into|delete from|update [a-z_]+ set)\b/i;
const owns = (table: string, file: string) => file.startsWith(`${OWNERS[table]}/`);
const mayRead = (table: string, file: string, text: string) =>
  Object.entries(READERS).some(
    ([folder, tables]) => file.startsWith(`${folder}/`) && tables.includes(table) && !WRITES.test(text),
  );
const TABLE_USE = /\b(?:from|join|into|update|using)\s+([a-z_]+)\b/gi;

/** Names of tables that a text reads or writes; common table expressions and aliases are not tables. */
function tablesIn(text: string): string[] {
  const named = [...text.matchAll(TABLE_USE)].map((match) => (match[1] ?? '').toLowerCase());
  return [...new Set(named)].filter((name) => name in OWNERS);
}

/** The tables of a file's entities. */
const mappedIn = (text: string) => [...text.matchAll(/@Entity\('(\w+)'\)/g)].map(([, table = '']) => table);

describe('tables', () => {
  const migrations = sourcesNamed(/\/migrations\//)
    .map(({ text }) => text)
    .join('\n');
  const definitions = [...migrations.matchAll(/create (?:unlogged )?table (\w+) \(([^;]*)/gi)].map(
    ([, table = '', columns = '']) => ({ table, columns }),
  );
  const created = definitions.map(({ table }) => table);

  it('each have one owner: add a new table to OWNERS', () => {
    expect([...created].sort()).toEqual(Object.keys(OWNERS).sort());
  });

  it('each have an entity in the folder of their owner: add it, with every column', () => {
    const mapped = sourcesNamed(/\.entity\.ts$/).flatMap(({ text }) => mappedIn(text));
    expect(created.filter((table) => !mapped.includes(table))).toEqual([]);
  });

  it('each say whose rows they hold, so that row-level security keeps requests to their tenant', () => {
    const open = definitions.filter(
      ({ table, columns }) => !/^\s*organization_id uuid/m.test(columns) && table !== 'organizations',
    );
    const missing = open.filter(({ table }) => !(table in NO_TENANT)).map(({ table }) => `${table}: ${ADVICE}`);
    expect(missing).toEqual([]);
    expect(Object.keys(NO_TENANT).filter((table) => !open.some((entry) => entry.table === table))).toEqual([]);
  });

  // A statement about another folder's table: call the owner's service instead, with the transaction.
  it.each(sourcesNamed(/\.sql\.ts$/).map(({ name, text }) => [name, text]))(
    'of other folders stay out of %s: go through their service',
    (name, text) => {
      const code = text.replace(/^\/\/.*$/gm, '').replace(/\/\*[\s\S]*?\*\//g, '');
      expect(tablesIn(code).filter((table) => !owns(table, name) && !mayRead(table, name, text))).toEqual([]);
    },
  );

  it.each(sourcesNamed(/\.entity\.ts$/).map(({ name, text }) => [name, text]))(
    '%s maps tables of its own folder: move the entity to the owner',
    (name, text) => {
      const tables = mappedIn(text);
      expect(tables.filter((table) => !owns(table, name))).toEqual([]);
      expect(tables).not.toEqual([]);
    },
  );

  it('are queried by statements with an explaining header: what, tables, index, locks, rows, why not the ORM', () => {
    const bare = sourcesNamed(/\.sql\.ts$/).filter(({ text }) => !/^\/\/ /m.test(text));
    expect(bare.map(({ name }) => name)).toEqual([]);
  });
});
