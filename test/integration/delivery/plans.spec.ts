import type { PoolClient } from 'pg';
import type { DataSource } from 'typeorm';
import { findKeyByHash, touchKeys } from '../../../src/auth/keys/sql/api-keys.sql';
import { HOUR } from '../../../src/common/clock';
import { plainEvents } from '../../../src/modules/events/event-rows';
import { firstIdAt, newId, timeOfId } from '../../../src/common/ids';
import { groupByTenant, type Tenant, type TenantGroup } from '../../../src/common/tenant';
import { beginWith, createDataSource, poolOf } from '../../../src/database/pool/data-source';
import type { Statement } from '../../../src/database/statements/statement';
import type { ClaimedDelivery, EmailKey } from '../../../src/delivery/ports/delivery';
import {
  deleteDeadSessions,
  endSession,
  findHeldClaims,
  reapSessions,
} from '../../../src/delivery/queue/sql/worker-sessions.sql';
import { claimDeliveries } from '../../../src/delivery/queue/sql/claim-deliveries.sql';
import { enqueueDeliveries, findOpenDeliveries } from '../../../src/delivery/queue/sql/open-deliveries.sql';
import { findReadyDestinations } from '../../../src/delivery/queue/sql/ready-destinations.sql';
import { claimOverdue, findReadyTenants, promoteDue } from '../../../src/delivery/queue/sql/due-deliveries.sql';
import {
  releaseDeliveries,
  settleDeliveries,
  withdrawDeliveries,
} from '../../../src/delivery/queue/sql/settle-deliveries.sql';
import { listAmong, listDeliveries } from '../../../src/delivery/queue/sql/list-queue.sql';
import { countQueueBy, measureQueue, QUEUE_GROUPS } from '../../../src/delivery/queue/sql/view-queue.sql';
import { claimSuspects, hasSuspect } from '../../../src/delivery/queue/sql/suspect-deliveries.sql';
import { applyOutcomes } from '../../../src/modules/emails/outcomes/apply-outcomes';
import type { EmailState } from '../../../src/modules/emails/outcomes/email-state';
import {
  deleteExpiredKeys,
  findStoredResponses,
  storeResponses,
} from '../../../src/modules/emails/accept/commit/sql/idempotency.sql';
import { insertAttachments, insertEmails } from '../../../src/modules/emails/accept/commit/sql/insert-emails.sql';
import { findAddressed } from '../../../src/modules/emails/sql/find-addressed.sql';
import { listIds, searchEmails } from '../../../src/modules/emails/sql/list-emails.sql';
import { findMailRecipients, loadMessages } from '../../../src/modules/emails/sql/load-messages.sql';
import { findDeliveredTo, loadRecipients, lockEmails } from '../../../src/modules/emails/outcomes/sql/lock-emails.sql';
import { insertEvents, writeOutcomes } from '../../../src/modules/emails/outcomes/sql/write-outcomes.sql';
import { addSuppressions, recordSoftBounces } from '../../../src/modules/suppressions/sql/automatic-suppressions.sql';
import { findSuppressed, refuseListed } from '../../../src/modules/suppressions/sql/suppression-entries.sql';
import { acceptedEmail } from '../../factories/accepted-emails';
import { claimInput, fillQueue, newDelivery, NIL_ID } from '../../factories/deliveries';
import { DEFERRED, recordedOutcome } from '../../factories/outcomes';
import { loadSkewedData } from '../../factories/skewed-data';
import { explainPrepared, type PlanNode, restrictionTo } from '../../setup/explain';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

/** What the statements are about. */
interface Facts {
  sessionId: string;
  claims: ClaimedDelivery[];
  emails: EmailKey[];
  /** Most of them: those of the largest organization. */
  ofTenant: TenantGroup<EmailKey>;
  addresses: { organizationId: string; mode: 'live'; key: string }[];
  hash: Buffer;
}

const BATCH = 100;
const BIG =
  /^(deliveries|emails|email_contents|email_attachments|email_recipients|email_events|suppressions|api_keys|idempotency_keys)(_\d{4}_\d\d|_default)?$/;
const PARTITIONED = /^(emails|email_contents|email_recipients)_(\d{4}_\d\d|default)$/;

const STATEMENTS: Record<string, (facts: Facts) => Statement<unknown>> = {
  claim: ({ sessionId, emails }) => claimDeliveries(claimInput(sessionId, { quotas: quotasOf(emails) })),
  'find destinations': ({ emails }) => findReadyDestinations(windowsOf(emails), { blocked: ['blocked.example'] }),
  'find tenants': () =>
    findReadyTenants({
      afterOrganizationId: NIL_ID,
      filter: { blocked: ['blocked.example'] },
      mostFound: 32,
      mostSeen: 512,
    }),
  'claim the overdue': ({ sessionId }) => claimOverdue(sessionId, new Date(), BATCH, new Date()),
  promote: () => promoteDue(new Date(Date.now() + 600_000), BATCH),
  settle: ({ claims }) =>
    settleDeliveries(
      claims.map((claim, n) => ({ ...claim, attempt: 1, nextAttemptAt: n % 2 === 0 ? null : new Date() })),
      new Date(),
    ),
  release: ({ claims }) => releaseDeliveries(claims),
  reap: () => reapSessions(BATCH),
  'claim suspects': ({ sessionId }) => claimSuspects(sessionId, ['blocked.example']),
  'has a suspect': ({ sessionId }) => hasSuspect(sessionId, ['blocked.example']),
  'end a session': ({ sessionId }) => endSession(sessionId),
  deleteDeadSessions: () => deleteDeadSessions(),
  withdraw: ({ emails }) => withdrawDeliveries(emails[0] ?? unknownEmail()),
  'find open': ({ emails }) => findOpenDeliveries(emails[0] ?? unknownEmail()),
  'find held': ({ sessionId }) => findHeldClaims(sessionId, new Date()),
  enqueue: () => enqueueDeliveries([newDelivery(), newDelivery()], new Date()),
  'lock emails': ({ ofTenant }) => lockEmails(...idsOf(ofTenant)),
  'load recipients': ({ ofTenant }) => loadRecipients(...idsOf(ofTenant)),
  'find delivered to': ({ ofTenant }) => findDeliveredTo(...idsOf(ofTenant)),
  'load messages': ({ ofTenant }) => loadMessages(...idsOf(ofTenant), 1_000_000),
  'find mail recipients': ({ ofTenant: { tenant, rows } }) =>
    findMailRecipients(
      tenant,
      rows.map((email) => ({ ...email, position: 0 })),
    ),
  'list ids': ({ emails }) => listIds(scopeOf(emails), [hourOf(emails), hourOf(emails)], PAGE),
  search: ({ emails }) => searchEmails(scopeOf(emails), hourOf(emails), { ...NO_TERMS, tag: 'x' }, PAGE),
  'search by recipient': ({ emails }) =>
    searchEmails(scopeOf(emails), hourOf(emails), { ...NO_TERMS, recipient: 'r7@x.example' }, PAGE),
  'list the queue of an email': ({ emails: [{ emailId } = { emailId: NIL_ID }] }) =>
    listDeliveries({ emailId }, QUEUE_START, PAGE.limit)[0],
  'list the queue among keys': ({ emails }) =>
    listAmong(
      emails.map((email) => ({ ...email, position: 0 })),
      { recipient: 'r7@x.example' },
      QUEUE_START,
      PAGE.limit,
    ),
  'write outcomes': ({ emails }) => writeOutcomes(emails.map(changesOf), new Date()),
  'insert events': ({ emails }) => insertEvents(emails.flatMap((email) => plainEvents(changesOf(email).events))),
  'find suppressed': ({ addresses }) => findSuppressed(addresses, new Date()),
  'refuse listed': ({ addresses }) =>
    refuseListed(
      addresses.map((address) => ({ ...address, key: `not-${address.key}`, category: 'bulk' })),
      new Date(),
    ),
  'add suppressions': ({ addresses }) =>
    addSuppressions(
      addresses.map(({ key, ...owner }) => ({ ...owner, email: key, reason: 'hard_bounce' })),
      new Date(),
    ),
  'record soft bounces': ({ addresses }) =>
    recordSoftBounces(
      addresses.flatMap(({ key, ...owner }) => [1, 2, 3].map(() => ({ ...owner, email: key, at: new Date() }))),
      { bounces: 3, windowDays: 30, suppressedDays: 14 },
      new Date(),
    ),
  'find a key': ({ hash }) => findKeyByHash(hash),
  'touch keys': ({ emails }) =>
    touchKeys(emails.map(({ organizationId }) => ({ organizationId, id: newId(), usedAt: new Date() }))),
  'insert emails': () => insertEmails([acceptedEmail(), acceptedEmail()], new Date(), new Map()),
  'insert an attachment': () => insertAttachments([acceptedEmail()])[0] as Statement<never>,
  'find responses': ({ emails }) => findStoredResponses(emails.map(keyClaim), new Date(0)),
  'store responses': ({ emails }) =>
    storeResponses(
      emails.map((email, n) => ({ claim: keyClaim(email, n), response: [] })),
      new Date(),
    ),
  'delete expired keys': () => deleteExpiredKeys(new Date(Date.now() - 600_000), BATCH),
};

const QUEUE_START = { organizationId: NIL_ID, mode: '', emailId: NIL_ID, position: -1 } as const;

const OF_ONE_TENANT = ['lock emails', 'load recipients', 'load messages', 'find mail recipients', 'write outcomes'];
/** What requests send, as a role that row-level security binds. A search by recipient is not among them: ADR 23. */
const OF_REQUESTS = [
  ...['withdraw', 'find open', 'enqueue', 'lock emails', 'load recipients', 'list ids', 'search', 'write outcomes'],
  ...['find suppressed', 'refuse listed', 'insert emails', 'insert an attachment', 'find responses', 'store responses'],
];

const PROVEN = 'proven.example';

/** The claim for an organization that uses its share of slow destinations. */
const PROVEN_ONLY: Record<string, (facts: Facts) => Statement<unknown>> = {
  'find destinations': ({ emails: [{ organizationId } = { organizationId: NIL_ID }] }) =>
    findReadyDestinations([{ organizationId, width: 100, cursor: 'n' }], {
      ...{ blocked: [], provenOnly: provenOnly(organizationId) },
    }),
  'find tenants': ({ emails: [{ organizationId } = { organizationId: NIL_ID }] }) =>
    findReadyTenants({
      ...{ afterOrganizationId: NIL_ID, mostFound: 32, mostSeen: 512 },
      filter: { blocked: [], provenOnly: provenOnly(organizationId) },
    }),
};

const provenOnly = (organizationId: string) => ({
  organizationIds: [organizationId],
  destinations: ['absent.example', PROVEN, 'without.example'],
});

describe('plans', () => {
  let db: OpenTestDatabase;
  let dataSource: DataSource;
  /** Of a pool whose connections have no settings, as behind a pooler: what plans hang on comes with the transaction. */
  const clients: Record<'early' | 'generic' | 'custom', PoolClient | undefined> = {
    early: undefined,
    generic: undefined,
    custom: undefined,
  };
  let facts: Facts;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 1 });
    dataSource = await createDataSource(db.url, { poolSize: 3 }).initialize();
    const early = await poolOf(dataSource).connect();
    clients.early = early;
    const nothing = unknownFacts();
    for (const build of Object.values(STATEMENTS)) {
      for (let run = 0; run < 7; run += 1) await inVain(early, build(nothing));
    }
    for (const name of OF_REQUESTS) {
      for (let run = 0; run < 7; run += 1) await inVain(early, STATEMENTS[name]!(nothing), true);
    }
    await loadSkewedData(db);
    facts = await findFacts(db);
  });
  afterAll(async () => {
    for (const client of Object.values(clients)) client?.release();
    await dataSource.destroy();
    await db.drop();
  });

  const explain = (client: keyof typeof clients, build: (typeof STATEMENTS)[string]) =>
    explainPrepared(clients[client]!, build(facts));

  const explainForTenants = (client: keyof typeof clients, name: string) => {
    const statement = STATEMENTS[name]!(facts);
    return explainPrepared(clients[client]!, statement, tenantsIn(statement));
  };

  describe('made while all tables were empty', () => {
    it('are made once', async () => {
      const unknown = await clients.early!.query<{ name: string }>(
        `select name from pg_prepared_statements where generic_plans = 0 and name <> ''`,
      );
      expect(unknown.rows.map(({ name }) => name)).toEqual([]);
    });

    it.each(Object.entries(STATEMENTS))('read by index once the tables have grown: %s', async (_name, build) => {
      expectFrugal(await explain('early', build));
    });

    it.each(OF_REQUESTS)('read by index under row-level security: %s', async (name) => {
      expectFrugal(await explainForTenants('early', name));
    });

    it('look at ready rows alone to claim', async () => {
      expectReadyRowsAlone(await explain('early', STATEMENTS.claim!), [1]);
      expectReadyRowsAlone(await explain('early', STATEMENTS['find destinations']!), []);
    });

    it.each(OF_ONE_TENANT)('read only the requested rows, not all of the tenant: %s', async (name) => {
      expectKeysAlone(await explain('early', STATEMENTS[name]!));
    });
  });

  describe('made on full tables', () => {
    beforeAll(async () => {
      // Makes every session plan again.
      await db.query('analyze');
      clients.generic = await poolOf(dataSource).connect();
      clients.custom = await poolOf(dataSource).connect();
      await clients.generic.query('set plan_cache_mode = force_generic_plan');
      await clients.custom.query('set plan_cache_mode = force_custom_plan');
    });

    it.each(Object.entries(STATEMENTS))('read by index: %s', async (_name, build) => {
      expectFrugal(await explain('generic', build));
      expectFrugal(await explain('custom', build));
    });

    it('read the whole queue in the order of its pages, where the rows of organizations lie in between each other', async () => {
      const [, whole] = listDeliveries({ destination: 'nobody.example' }, QUEUE_START, PAGE.limit);
      const statements = [...QUEUE_GROUPS.map((group) => countQueueBy(group, BATCH)), measureQueue(1, []), whole!];
      for (const statement of statements) {
        for (const kind of ['generic', 'custom'] as const) {
          const plan = await explain(kind, () => statement);
          const scans = plan.filter(
            (node) =>
              node['Relation Name'] === 'deliveries' && /(Seq|Index|Index Only|Heap) Scan/.test(node['Node Type']),
          );
          const types = scans.map((node) => `${statement.name}: ${node['Node Type']}`);
          expect(types).toEqual([expect.stringMatching(/Seq Scan|Bitmap Heap Scan/)]);
        }
      }
    });

    it('find what was sent to an address by index, in each month', async () => {
      const build = () => findAddressed('r7@x.example', QUEUE_START, BATCH);
      expect(expectIndexed(await explain('generic', build))).not.toEqual([]);
      expect(expectIndexed(await explain('custom', build))).not.toEqual([]);
    });

    it.each(OF_REQUESTS)('read by index under row-level security: %s', async (name) => {
      expectFrugal(await explainForTenants('generic', name));
      expectFrugal(await explainForTenants('custom', name));
    });

    it('look at ready rows alone to claim', async () => {
      expectReadyRowsAlone(await explain('generic', STATEMENTS.claim!), [1]);
      expectReadyRowsAlone(await explain('generic', STATEMENTS['find destinations']!), []);
      expectReadyRowsAlone(await explain('custom', STATEMENTS.claim!), [1]);
      expectReadyRowsAlone(await explain('custom', STATEMENTS['find destinations']!), []);
    });

    it.each(OF_ONE_TENANT)('read only the requested rows, not all of the tenant: %s', async (name) => {
      expectKeysAlone(await explain('generic', STATEMENTS[name]!));
      expectKeysAlone(await explain('custom', STATEMENTS[name]!));
    });

    it('look at ready rows alone to claim, also in the queue of one organization', async () => {
      await db.query('truncate deliveries');
      await fillQueue(db, 20_000, { organizationId: facts.emails[0]!.organizationId });
      await db.query('vacuum analyze deliveries');
      expectReadyRowsAlone(await explain('generic', STATEMENTS.claim!), [1]);
      expectReadyRowsAlone(await explain('generic', STATEMENTS['find destinations']!), []);
      expectReadyRowsAlone(await explain('custom', STATEMENTS.claim!), [1]);
      expectReadyRowsAlone(await explain('custom', STATEMENTS['find destinations']!), []);
    });

    it.each(Object.keys(PROVEN_ONLY))(
      'look up proven destinations alone, however many others there are: %s',
      async (name) => {
        const { organizationId } = facts.emails[0]!;
        await db.query('truncate deliveries');
        await fillQueue(db, 5_000, { organizationId });
        await db.query(`update deliveries set destination = 'made-up-' || email_id || '.example'`);
        await fillQueue(db, 5, { organizationId, destination: PROVEN });
        await db.query('vacuum analyze deliveries');
        for (const kind of ['generic', 'custom'] as const) {
          const plan = await explain(kind, PROVEN_ONLY[name]!);
          const scans = plan.filter(
            (node) => node['Relation Name'] === 'deliveries' && node['Node Type'].includes('Scan'),
          );
          const looks = scans.map((node) => (node['Actual Loops'] ?? 0) * ((node['Actual Rows'] ?? 0) + 1));
          expect(Math.max(...looks)).toBeGreaterThan(0);
          expect(Math.max(...looks)).toBeLessThan(50);
        }
      },
    );
  });
});

function expectReadyRowsAlone(plan: readonly PlanNode[], keyRows: readonly number[]): void {
  const reads = plan.filter((node) => node['Relation Name'] === 'deliveries' && node['Node Type'].includes('Scan'));
  // The update finds each claimed row by its key.
  const byKey = reads.filter((node) => node['Index Name'] !== 'deliveries_ready');
  expect(byKey.map((node) => node['Actual Rows'])).toEqual(keyRows);
  expect(reads.map((node) => node['Rows Removed by Filter'] ?? 0)).toEqual(reads.map(() => 0));
}

/** One row for each key. */
function expectKeysAlone(plan: readonly PlanNode[]): void {
  const scans = plan.filter((node) => BIG.test(node['Relation Name'] ?? '') && node['Node Type'].includes('Scan'));
  const read = scans.map((node) => {
    return ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * (node['Actual Loops'] ?? 0);
  });
  expect(Math.max(...read)).toBeGreaterThan(0);
  expect(Math.max(...read)).toBeLessThanOrEqual(BATCH);
}

/** No big table is read as a whole. Returns the scans of big tables. */
function expectIndexed(plan: readonly PlanNode[]): PlanNode[] {
  const scans = plan.filter((node) => BIG.test(node['Relation Name'] ?? '') && node['Node Type'].includes('Scan'));
  expect(scans.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
  expect(scans.filter((node) => (node['Index Cond'] ?? node['Recheck Cond']) === undefined)).toEqual([]);
  return scans;
}

/** No big table is read as a whole, and of each partitioned table only the partition of the ids in question. */
function expectFrugal(plan: readonly PlanNode[]): void {
  const scans = expectIndexed(plan);
  const touched = scans.filter((node) => (node['Actual Loops'] ?? 0) > 0).map((node) => node['Relation Name'] ?? '');
  const partitions = new Set(touched.filter((name) => PARTITIONED.test(name)));
  const tables = [...partitions].map((name) => PARTITIONED.exec(name)?.[1]);
  expect(tables).toEqual([...new Set(tables)]);
}

/** Runs a statement in a transaction that is undone. @param isOfRequest as a request of its organizations sends it */
async function inVain(client: PoolClient, statement: Statement<unknown>, isOfRequest = false): Promise<void> {
  if (!isOfRequest) {
    await client.query(beginWith());
    await client.query({ ...statement });
  } else {
    await client.query(beginWith('', await restrictionTo(client, tenantsIn(statement))));
    await client.query({ ...statement, name: `${statement.name}@tenant` });
  }
  await client.query('rollback');
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Every id among the values: those of the organizations are among them. */
function tenantsIn({ values }: Statement<unknown>): string[] {
  return [...new Set(values.flat().filter((value): value is string => UUID.test(String(value))))];
}

async function findFacts({ query }: OpenTestDatabase): Promise<Facts> {
  const [session] = await query<{ id: string }>('select id from worker_sessions where lease_until > now() limit 1');
  const claims = await query<ClaimedDelivery>(
    `select organization_id as "organizationId", mode, email_id as "emailId", position, claim_token as "claimToken"
     from deliveries where state = 'claimed' order by random() limit ${BATCH}`,
  );
  const emails = await query<EmailKey>(
    `select organization_id as "organizationId", mode, id as "emailId" from emails order by random() limit ${BATCH}`,
  );
  const addresses = await query<Facts['addresses'][number]>(
    `select organization_id as "organizationId", mode, address_key as key from suppressions
     order by random() limit ${BATCH}`,
  );
  const [key] = await query<{ hash: Buffer }>('select hash from api_keys limit 1');
  const [ofTenant] = groupByTenant(emails).sort((one, other) => other.rows.length - one.rows.length);
  if (!session || !key || !ofTenant) throw new Error('The data has not been loaded');
  return { sessionId: session.id, claims, emails, ofTenant, addresses, hash: key.hash };
}

/** Names of things that do not exist, as many as there will be. */
function unknownFacts(): Facts {
  const emails = Array.from({ length: BATCH }, unknownEmail);
  const { organizationId } = unknownEmail();
  return {
    sessionId: newId(),
    claims: emails.map((email) => ({ ...email, position: 0, claimToken: 1 }) as ClaimedDelivery),
    emails,
    ofTenant: { tenant: { organizationId, mode: 'live' }, rows: emails.map((email) => ({ ...email, organizationId })) },
    addresses: emails.map((email) => ({ organizationId: email.organizationId, mode: 'live', key: 'r@x.example' })),
    hash: Buffer.alloc(32),
  };
}

function unknownEmail(): EmailKey {
  return { organizationId: newId(), mode: 'live', emailId: newId() };
}

/** A share for each of the first organizations. */
const idsOfOrganizations = (emails: readonly EmailKey[]) =>
  [...new Set(emails.map(({ organizationId }) => organizationId))].slice(0, 32);

function quotasOf(emails: readonly EmailKey[]) {
  const destinations = ['example.com', 'x.example', 'absent.example'];
  return idsOfOrganizations(emails).flatMap((organizationId) =>
    destinations.map((destination) => ({ organizationId, destination, most: 3 })),
  );
}

function windowsOf(emails: readonly EmailKey[]) {
  return idsOfOrganizations(emails).map((organizationId) => ({ organizationId, cursor: 'm', width: 32 }));
}

function idsOf({ tenant, rows }: TenantGroup<EmailKey>): [Tenant, string[]] {
  return [tenant, rows.map(({ emailId }) => emailId)];
}

const PAGE = { offset: 20, limit: 20 };
const NO_TERMS = { status: undefined, tag: undefined, recipient: undefined, subject: undefined };

function scopeOf([email = unknownEmail()]: readonly EmailKey[]) {
  return { organizationId: email.organizationId, mode: email.mode, domainId: undefined };
}

/** The ids of an hour that begins with the first email. */
function hourOf([email = unknownEmail()]: readonly EmailKey[]) {
  const from = timeOfId(email.emailId);
  return { from: firstIdAt(from), to: firstIdAt(new Date(from.getTime() + HOUR)) };
}

function keyClaim({ organizationId, mode }: EmailKey, n: number) {
  return { organizationId, mode, path: '/v1/emails', key: `key ${n}`, fingerprint: Buffer.alloc(32) };
}

function changesOf(key: EmailKey) {
  const recipient = { position: 0, address: 'r@x.example', seen: 0, status: 'queued', attempts: 0, lastResponse: null };
  const email = {
    ...key,
    domainId: key.organizationId,
    status: 'queued',
    eventSequence: 1,
    scheduledFor: null,
    isSenderErased: false,
  };
  const owner = { organizationId: key.organizationId, domainId: key.organizationId };
  return applyOutcomes({ ...email, recipients: [recipient] } as EmailState, [
    recordedOutcome({ ...owner, domain: '', as: () => ({ ...key, domainId: undefined }) }, key.emailId, DEFERRED),
  ]);
}
