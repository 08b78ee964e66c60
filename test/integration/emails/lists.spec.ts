import { HOUR, MINUTE } from '../../../src/common/clock';
import { timeOfId } from '../../../src/common/ids';
import { Database } from '../../../src/database/pool/database.service';
import { EmailListService, type ListPage } from '../../../src/modules/emails/email-list.service';
import type { Tenant as TenantKey } from '../../../src/common/tenant';
import type { EmailFilter } from '../../../src/modules/emails/email-list.service';
import { idRange } from '../../../src/modules/emails/id-range';
import { SEARCH_WINDOW, searchEmails } from '../../../src/modules/emails/sql/list-emails.sql';
import { locateEmails } from '../../../src/modules/stats/sql/sum-period.sql';
import { StatsService } from '../../../src/modules/stats/stats.service';
import { addDomain, createTenant, type Tenant } from '../../factories/tenants';
import { type Core, startCore } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

const NEWEST = Date.UTC(2026, 2, 31, 23, 30);

interface StoredEmail {
  readonly id: string;
  readonly domainId: string;
  readonly status: string;
  readonly subject: string;
}

describe('lists of emails over many hours', () => {
  let db: OpenTestDatabase;
  let core: Core;
  let lists: EmailListService;
  let tenant: Tenant;
  let otherDomainId: string;
  let stored: StoredEmail[];

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 2 });
    core = await startCore(db.url);
    lists = core.get(EmailListService);
    tenant = await createTenant(db);
    otherDomainId = await addDomain(db, tenant.organizationId, { domain: `other.${tenant.domain}` });
    await fill(400);
    stored = await db.query(
      'select id, domain_id as "domainId", status, subject from emails where organization_id = $1 order by id desc',
      [tenant.organizationId],
    );
  });
  afterAll(async () => {
    await core.close();
    await db.drop();
  });

  /** One email every 13 minutes, every ninth of the other domain, with the counts that their acceptance would have left. */
  async function fill(emails: number): Promise<void> {
    await db.query(
      `insert into emails (organization_id, mode, id, domain_id, status, from_email, subject, to_emails, category,
         track_opens, track_clicks, event_sequence, tags, created_at, updated_at)
       select $1, 'live', (left(uuid_v7_floor(at)::text, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid,
         case when n % 9 = 0 then $3::uuid else $2::uuid end, case when n % 7 = 0 then 'bounced' else 'delivered' end,
         'a@x.example', 'mail ' || n || case when n % 11 = 0 then ' Σίσυφος' else '' end, '{r@x.example}', 'transactional', true, true, 1,
         case when n % 5 = 0 then '{news}'::text[] end, at, at
       from generate_series(0, $4::int - 1) n, lateral (select to_timestamp($5::float8 / 1000) - n * interval '13 minutes' as at) time`,
      [tenant.organizationId, tenant.domainId, otherDomainId, emails, NEWEST],
    );
    await db.query(
      `insert into stats_deltas (organization_id, mode, domain_id, hour, emails)
       select organization_id, mode, domain_id, date_trunc('hour', created_at), 1 from emails where organization_id = $1`,
      [tenant.organizationId],
    );
    await db.query(
      `insert into email_recipients (organization_id, mode, email_id, position, kind, address, status, updated_at)
       select organization_id, mode, id, 0, 'to', 'R@x.example', 'queued', now() from emails where organization_id = $1`,
      [tenant.organizationId],
    );
  }

  const page = (filter: EmailFilter, where: ListPage, viewer: TenantKey = tenant.as('live')) =>
    lists.page(viewer, filter, where);
  const idsOf = async (filter: EmailFilter, where: ListPage, viewer?: TenantKey) =>
    (await page(filter, where, viewer)).emails.map(({ id }) => id);

  const at = (hoursBack: number, minutes = 0) => new Date(NEWEST - hoursBack * HOUR + minutes * MINUTE);
  const FILTERS: [string, () => EmailFilter, (email: StoredEmail) => boolean][] = [
    ['nothing', () => ({}), () => true],
    ['a domain', () => ({ domainId: otherDomainId }), ({ domainId }) => domainId === otherDomainId],
    ['a beginning', () => ({ from: at(50, 7) }), ({ id }) => timeOfId(id) >= at(50, 7)],
    ['an end', () => ({ to: at(20, -3) }), ({ id }) => timeOfId(id) < at(20, -3)],
    [
      'a range and a domain',
      () => ({ from: at(60), to: at(3.3), domainId: otherDomainId }),
      ({ id, domainId }) => timeOfId(id) >= at(60) && timeOfId(id) < at(3.3) && domainId === otherDomainId,
    ],
    [
      'whole hours',
      () => ({ from: at(30.5), to: at(4.5) }),
      ({ id }) => timeOfId(id) >= at(30.5) && timeOfId(id) < at(4.5),
    ],
    [
      'part of an hour',
      () => ({ from: at(9, 1), to: at(9, 28) }),
      ({ id }) => timeOfId(id) >= at(9, 1) && timeOfId(id) < at(9, 28),
    ],
    ['a range that is none', () => ({ from: at(1), to: at(2) }), () => false],
    ['a status', () => ({ status: 'bounced' as const }), ({ status }) => status === 'bounced'],
    ['a part of the subject', () => ({ subject: 'AIL 12' }), ({ subject }) => subject.includes('ail 12')],
    [
      'a subject in capitals, with a final sigma',
      () => ({ subject: 'ΣΊΣΥΦΟΣ' }),
      ({ subject }) => / Σίσυφος$/.test(subject),
    ],
    ['a recipient and a subject that is no pattern', () => ({ recipient: 'r@x.example', subject: '%1_' }), () => false],
    ['a recipient', () => ({ recipient: 'r@x.example', from: at(12) }), ({ id }) => timeOfId(id) >= at(12)],
  ];

  describe.each(FILTERS)('filtered by %s', (_name, filter, matches) => {
    const wanted = () => stored.filter(matches).map(({ id }) => id);

    it('have every email on one page, in order', async () => {
      const limit = 7;
      const pages = Math.ceil(wanted().length / limit) + 1;
      const seen: string[] = [];
      for (let number = 1; number <= pages; number += 1) seen.push(...(await idsOf(filter(), { page: number, limit })));
      expect(seen).toEqual(wanted());
    });

    it('have cursors to the end', async () => {
      const seen: string[] = [];
      let after: string | undefined;
      do {
        const { emails, next, total } = await page(filter(), {
          page: 1,
          limit: 11,
          ...(after !== undefined && { after }),
        });
        expect(total).toBe(wanted().length);
        seen.push(...emails.map(({ id }) => id));
        after = next;
      } while (after !== undefined);
      expect(seen).toEqual(wanted());
    });
  });

  it.each([
    ['νικος', 'ΝΙΚΟΣ', true],
    ['ΝΙΚΟΣ', 'νικοσ', true],
    ['İbrahim', 'i\u0307brahim', true],
    ['İbrahim', 'ibrahim', false],
    ['ibrahim', 'İbrahim', false],
  ])('of mail to %s have it for the recipient %s: %s', async (stored, asked, isFound) => {
    await db.query(
      `insert into email_recipients (organization_id, mode, email_id, position, kind, address, status, updated_at)
       select organization_id, mode, id, 1, 'to', $2, 'queued', now() from emails where organization_id = $1 limit 1`,
      [tenant.organizationId, `${stored}@x.example`],
    );
    const found = await page({ recipient: `${asked}@x.example` }, { page: 1, limit: 5 });
    await db.query('delete from email_recipients where position = 1 and organization_id = $1', [tenant.organizationId]);
    expect(found.total).toBe(isFound ? 1 : 0);
  });

  it('are the same before, while and after the counts are folded', async () => {
    const before = await page({}, { page: 20, limit: 10 });
    await core.get(StatsService).fold();
    expect(await page({}, { page: 20, limit: 10 })).toEqual(before);
    expect(before.total).toBe(stored.length);
  });

  it('show a key that is bound to a domain that domain', async () => {
    const bound = tenant.as('live', otherDomainId);
    const { emails, total } = await page({}, { page: 1, limit: 100 }, bound);
    expect(total).toBe(stored.filter(({ domainId }) => domainId === otherDomainId).length);
    expect(new Set(emails.map(({ domainId }) => domainId))).toEqual(new Set([otherDomainId]));
    expect(await page({ domainId: tenant.domainId }, { page: 1, limit: 10 }, bound)).toMatchObject({
      total: 0,
      emails: [],
    });
  });

  it('skip by counts alone: a late page reads the rows of its hours', async () => {
    const scope = { organizationId: tenant.organizationId, mode: 'live' as const, domainId: undefined };
    const hours = await core.get(Database).run(locateEmails(scope, { offset: 300, limit: 10 }));
    const counted = hours.reduce((sum, { emails }) => sum + emails, 0);
    expect(hours.length).toBeLessThanOrEqual(10);
    expect((hours[0]?.newer ?? 0) + counted).toBeGreaterThanOrEqual(310);
    expect(hours[0]?.newer).toBeLessThanOrEqual(300);
  });

  it('search as many of the newest emails to an address, of all of its forms together', async () => {
    const scope = { organizationId: tenant.organizationId, mode: 'live' as const };
    const newest = stored.slice(0, 20).map(({ id }) => id);
    // Twelve emails in one spelling, then eight in another: neither is examined whole by itself.
    await db.query(
      `insert into email_recipients (organization_id, mode, email_id, position, kind, address, status, updated_at)
       select $1, 'live', id::uuid, 2, 'to', case when place <= 12 then 'νικος@y.example' else 'νικοσ@y.example' end, 'queued', now()
       from unnest($2::text[]) with ordinality as e (id, place)`,
      [tenant.organizationId, newest],
    );
    const terms = { status: undefined, tag: undefined, recipient: 'νικος@y.example', subject: undefined };
    const find = async (window: number, before?: string) => {
      const statement = searchEmails(scope, idRange({}, before), terms, { offset: 0, limit: 100 }, window);
      const [found] = await core.get(Database).run(statement);
      return found;
    };
    expect(await find(50)).toMatchObject({ total: 20, examined: 20 });
    const first = await find(10);
    expect(first).toMatchObject({ ids: newest.slice(0, 10), examined: 10, oldest: newest[9] });
    expect(await find(10, newest[9])).toMatchObject({ ids: newest.slice(10), examined: 10 });
    await db.query('delete from email_recipients where position = 2 and organization_id = $1', [tenant.organizationId]);
  });

  it('search a number of the newest emails, and return where they stopped', async () => {
    const big = await createTenant(db);
    await db.query(
      `insert into emails (organization_id, mode, id, domain_id, status, from_email, subject, to_emails, category,
         track_opens, track_clicks, event_sequence, created_at, updated_at)
       select $1, 'live', uuid_v7_floor(to_timestamp($4::float8 / 1000) - n * interval '1 second'), $2,
         case when n >= $3::int then 'failed' else 'delivered' end,
         'a@x.example', '', '{}', 'transactional', true, true, 1, now(), now()
       from generate_series(0, $3::int + 2) n`,
      [big.organizationId, big.domainId, SEARCH_WINDOW, NEWEST],
    );
    const first = await page({ status: 'failed' }, { page: 1, limit: 20 }, big.as('live'));
    expect(first).toMatchObject({ emails: [], total: 0, partial: true, next: expect.any(String) });
    const rest = await page({ status: 'failed' }, { page: 1, limit: 20, after: first.next ?? '' }, big.as('live'));
    expect(rest.emails).toHaveLength(3);
    expect(rest.next).toBeUndefined();
  });
});
