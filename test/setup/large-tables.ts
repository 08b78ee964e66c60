/** Migrations up to this one made release 0.1.0; later ones run on databases that are full. */
export const RELEASED = 40;

/**
 * Tables that stay small however much mail there is: a migration may read, change and rewrite them in its transaction. All
 * others of a released schema count as large.
 */
export const SMALL_TABLES: readonly string[] = [
  ...['organizations', 'api_keys', 'domains', 'dkim_keys', 'domain_checks', 'removed_domains', 'suppression_hash_keys'],
  ...['worker_sessions', 'queue_measures', 'job_leases', 'stats_checks', 'privacy_requests', 'mailbox_messages'],
  ...['webhook_endpoints', 'webhook_replays', 'webhook_removals'],
];

/** What to do instead, for the message of a test. */
export const INSTEAD = {
  index: 'extend BuildIndexesMigration (src/database/migrations/forward-only.ts): it builds while mail flows',
  constraint: 'add it `not valid` and validate it one release later, or leave it to the code',
  rewrite:
    'add a new column, fill it by a backfill (src/database/installation/backfill.ts), and remove the old one a release later',
  change:
    'leave the rows to a backfill (src/database/installation/backfill.ts), which takes them in batches and tells its progress',
  lock: 'find another way: whatever comes to the table waits behind it',
} as const;
