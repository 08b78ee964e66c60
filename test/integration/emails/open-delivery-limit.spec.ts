import { SECOND } from '../../../src/common/clock';
import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { ALL_SCOPES } from '../../../src/common/http/scopes';
import { FakeClock } from '../../doubles/fake-clock';
import { type Answer, ApiClient } from '../../e2e/kit/api-client';
import { createTenant } from '../../factories/tenants';
import { type Api, startApi } from '../../setup/api-context';
import { openTestDatabase, type OpenTestDatabase } from '../../setup/open-test-database';
import { waitFor } from '../../setup/wait-for';

describe('an organization that fills the queue', () => {
  const clock = new FakeClock();
  let db: OpenTestDatabase;
  let api: Api;
  beforeAll(async () => {
    db = await openTestDatabase();
    api = await startApi(db.url, { clock, env: { OPEN_DELIVERIES_PER_ORGANIZATION: '5' } });
  });
  afterAll(async () => {
    await api.close();
    await db.drop();
  });

  async function newSender() {
    const { organizationId, domain } = await createTenant(db);
    const fields = { name: 'x', mode: 'live' as const, scopes: ALL_SCOPES };
    const { key } = await api.get(ApiKeysService).create(organizationId, fields);
    const client = new ApiClient(api.port, key);
    const send = (recipients: number) =>
      client.post('/v1/emails', {
        ...{ from: `a@${domain}`, subject: 's', text: 't' },
        to: Array.from({ length: recipients }, (_, index) => `r${index}@x.example`),
      });
    return { organizationId, send };
  }

  /** The next send reads a count that is made then. */
  async function whenCounted(): Promise<void> {
    await db.query(`update queue_measures set measured_at = '-infinity', begun_at = '-infinity'`);
    clock.advance(3 * SECOND);
  }

  const counted = () =>
    waitFor(async () => (await db.query(`select from queue_measures where measured_at > '-infinity'`)).length > 0, {
      what: 'the count',
    });

  const refusalOf = (send: () => Promise<Answer>) =>
    waitFor(
      async () => {
        const response = await send();
        return response.status === 429 && response;
      },
      { what: 'a refusal' },
    );

  it('waits until some of its mail has ended; others go on', async () => {
    const [loud, quiet] = [await newSender(), await newSender()];
    expect((await loud.send(4)).status).toBe(202);
    expect((await quiet.send(4)).status).toBe(202);
    await whenCounted();
    expect((await loud.send(4)).status).toBe(202);
    await whenCounted();
    // Notices it: a send waits for no count.
    expect((await quiet.send(1)).status).toBe(202);
    await counted();
    // The count is committed before the process has read it.
    const refused = await refusalOf(() => loud.send(1));
    expect(refused.body.error).toMatchObject({
      code: 'sending_limit_exceeded',
      details: { limit: 5, used: 8, reason: 'open_deliveries' },
    });
    expect(refused.headers.get('retry-after')).toBe('60');
    await db.query('delete from deliveries where organization_id = $1', [loud.organizationId]);
    await whenCounted();
    expect((await loud.send(1)).status).toBe(202);
  });
});
