import type { PoolClient } from 'pg';
import { LAST_ID, newId } from '../../../src/common/ids';
import { poolOf } from '../../../src/database/pool/data-source';
import { InboundMailLimits } from '../../../src/modules/inbound-mail/emails/inbound-mail-limits';
import {
  listInboundEmails,
  searchInboundEmails,
} from '../../../src/modules/inbound-mail/emails/sql/list-inbound-emails.sql';
import { addDomain } from '../../factories/tenants';
import { explainBoth } from '../../setup/explain';
import { DomainsApp, type Owner } from '../domains/domains-app';

/** Those numbered from 0 to 9 are the oldest, of Ada and of the smaller domain. */
const FEW = 10;
const MANY = 3_000;
const WINDOW = 200;
const ADA = 'ada@few.example';

const INDEX_SCAN: unknown = expect.stringMatching(/^Index (Only )?Scan$/);

const FILL = `
  with added as (
    insert into inbound_emails (
      organization_id, mode, id, route_id, domain_id, digest, envelope_from, envelope_to, from_address, addresses, data,
      size_bytes, received_at
    )
    select $1, 'live', uuid_v7_floor(at), $2, case when n < $5::int then $4::uuid else $3::uuid end, int4send(n),
      case when n < $5 then '${ADA}' else 'bob@many.example' end, array['in' || n % 2 || '@x.example'], 'list@x.example', '{}',
      jsonb_build_object('from', '', 'to', '[]'::jsonb, 'cc', '[]'::jsonb, 'subject', n::text, 'messageId', null,
        'references', '[]'::jsonb, 'marks', '[]'::jsonb, 'authentication',
        '{"spf": {"result": "none"}, "dkim": [], "dmarc": {"result": "none"}}'::jsonb),
      100, at
    from generate_series(0, $6::int - 1) n, lateral (select now() - interval '2 hours' + n * interval '1 second' as at) time
    returning size_bytes
  )
  insert into inbound_usage select $1, count(*), sum(size_bytes + 4096) from added`;

interface Filled extends Owner {
  /** The smaller domain. */
  readonly few: string;
}

describe('lists of inbound mail', () => {
  let app: DomainsApp;
  let acme: Filled;
  let limits: { searchWindow: number };

  beforeAll(async () => {
    app = await DomainsApp.start();
    limits = app.get(InboundMailLimits);
    limits.searchWindow = WINDOW;
    acme = await fill(MANY);
  });
  afterAll(() => app.close());

  async function fill(emails: number): Promise<Filled> {
    const owner = await app.owner();
    const [many, few] = [await addDomain(app.db, owner.organizationId), await addDomain(app.db, owner.organizationId)];
    await app.db.query(FILL, [owner.organizationId, newId(), many, few, FEW, emails]);
    return { ...owner, few };
  }

  async function list(query: string, api = acme.api): Promise<{ data: { subject: string }[]; pagination: any }> {
    const { status, body } = await api.get(`/v1/inbound-emails?${query}`);
    expect({ status, error: body.error }).toEqual({ status: 200, error: undefined });
    return body;
  }

  /** The numbers of all that cursors lead to. */
  async function walk(query: string): Promise<number[]> {
    const seen: number[] = [];
    let cursor = '';
    do {
      const { data, pagination } = await list(`limit=100&${query}${cursor && `&cursor=${cursor}`}`);
      seen.push(...data.map(({ subject }) => Number(subject)));
      cursor = pagination.nextCursor ?? '';
    } while (cursor !== '');
    return seen;
  }

  const newestFirst = Array.from({ length: MANY }, (_, index) => MANY - 1 - index);

  it('have all of it, with an exact total; numbers of pages reach the newest, cursors the rest', async () => {
    const { data, pagination } = await list('page=2&limit=100');
    expect([data[0]?.subject, data.length]).toEqual([String(MANY - 101), 100]);
    expect(pagination).toEqual({ page: 2, limit: 100, total: MANY, totalPages: 2, nextCursor: expect.any(String) });
    const beyond = await list('page=3&limit=100');
    expect(beyond).toMatchObject({ data: [], pagination: { total: MANY, totalPages: 2 } });
    expect(await walk('')).toEqual(newestFirst);
  });

  it('search a number of the newest for an address, report that, and continue from there', async () => {
    const nothing = await list(`from=${ADA}`);
    expect(nothing).toMatchObject({
      data: [],
      pagination: { total: 0, partial: true, nextCursor: expect.any(String) },
    });
    const half = await list('to=IN1@x.example&limit=5');
    expect(half.pagination).toMatchObject({ total: WINDOW / 2, totalPages: 20, partial: true });
    expect(half.data.map(({ subject }) => Number(subject) % 2)).toEqual([1, 1, 1, 1, 1]);
    const next = await list(`to=in1@x.example&limit=5&cursor=${half.pagination.nextCursor}`);
    expect(next.data[0]?.subject).toBe(String(MANY - 11));
    expect(next.pagination.total).toBe(WINDOW / 2);
    expect(await walk(`from=${ADA}`)).toEqual(newestFirst.slice(-FEW));
    expect(await walk('to=in1@x.example')).toEqual(newestFirst.filter((number) => number % 2 === 1));
    expect(await walk('from=list@x.example&to=in0@x.example')).toHaveLength(MANY / 2);
  });

  it('find an address in each of its forms', async () => {
    const owner = await fill(3);
    await app.db.query(
      `update inbound_emails set envelope_to = '{νικος@xn--bcher-kva.example}', envelope_from = 'νικοσ@xn--bcher-kva.example'
       where organization_id = $1`,
      [owner.organizationId],
    );
    for (const field of ['to', 'from']) {
      for (const form of ['ΝΙΚΟΣ@bücher.example', 'νικοσ@Bücher.example', 'νικος@xn--bcher-kva.example']) {
        expect((await list(`${field}=${encodeURIComponent(form)}`, owner.api)).data).toHaveLength(3);
      }
      expect((await list(`${field}=${encodeURIComponent('νικο@bücher.example')}`, owner.api)).data).toEqual([]);
    }
  });

  it('show a key that is bound to a domain all of that domain, however much newer mail others have', async () => {
    const bound = await acme.client(['inbound:read'], acme.few);
    const { data, pagination } = await list('limit=4&page=3', bound);
    expect(data.map(({ subject }) => subject)).toEqual(['1', '0']);
    expect(pagination).toEqual({ page: 3, limit: 4, total: FEW, totalPages: 3 });
    expect((await list(`from=bob@many.example`, bound)).data).toEqual([]);
  });

  it('refuse cursors that are none', async () => {
    expect((await acme.api.get('/v1/inbound-emails?cursor=AAAA')).status).toBe(400);
  });

  it('read no more rows than that, whatever the filter', async () => {
    const { organizationId, few } = await fill(20_000);
    await app.db.query('vacuum analyze inbound_emails');
    const tenant = { organizationId, mode: 'live' as const };
    const page = { offset: 0, limit: 20 };
    const span = { before: LAST_ID, window: WINDOW };
    const statements = [
      listInboundEmails(tenant, LAST_ID, { offset: WINDOW - 20, limit: 20 }),
      searchInboundEmails(tenant, span, { from: [ADA] }, page),
      searchInboundEmails(tenant, span, { to: ['nobody@x.example', 'nobody@y.example'] }, page),
      searchInboundEmails({ ...tenant, domainId: few }, span, {}, page),
    ];
    const client: PoolClient = await poolOf(app.db.dataSource).connect();
    try {
      for (const statement of statements) {
        const plan = await explainBoth(client, statement, [organizationId]);
        const reads = plan.filter((node) => node['Relation Name'] === 'inbound_emails');
        expect([statement.name, reads.map((node) => node['Node Type'])]).toEqual([
          statement.name,
          [INDEX_SCAN, INDEX_SCAN],
        ]);
        for (const { 'Actual Rows': rows = 0, 'Rows Removed by Filter': removed = 0 } of reads) {
          expect(rows + removed).toBeLessThanOrEqual(WINDOW);
        }
      }
    } finally {
      client.release();
    }
  });
});
