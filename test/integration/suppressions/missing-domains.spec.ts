import { Database } from '../../../src/database/pool/database.service';
import { OutcomeRecorder } from '../../../src/modules/emails/outcomes/outcome-recorder.service';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { ClearSuppressionsJob } from '../../../src/modules/suppressions/clear-suppressions.job';
import { MISSING_DOMAIN, recordedOutcome } from '../../factories/outcomes';
import { sendBody } from '../../factories/send-requests';
import { createTenant, type Tenant } from '../../factories/tenants';
import { type Core, startCore } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

const EMAIL = 'r0@x.example';

describe("a recipient's domain that does not exist", () => {
  let db: OpenTestDatabase;
  let core: Core;
  let tenant: Tenant;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 3 });
    core = await startCore(db.url);
  });
  beforeEach(async () => {
    tenant = await createTenant(db);
  });
  afterAll(async () => {
    await core.close();
    await db.drop();
  });

  /** A further mail to the address meets it. */
  async function look(): Promise<void> {
    const { accepted } = await core
      .get(SendEmailsService)
      .sendOne(sendBody({ to: [EMAIL] }), undefined, tenant.as('live'));
    await core
      .get(Database)
      .transaction((tx) =>
        core.get(OutcomeRecorder).record([recordedOutcome(tenant, accepted.id, MISSING_DOMAIN)], tx),
      );
  }
  /** As if so many days had passed since the looks. */
  const pass = (days: number) =>
    db.query(
      `update missing_domains set first_seen_on = first_seen_on - $2::int, last_seen_on = last_seen_on - $2::int
       where organization_id = $1`,
      [tenant.organizationId, days],
    );
  const suppressions = () =>
    db.query('select email, reason, source, expires_at from suppressions where organization_id = $1', [
      tenant.organizationId,
    ]);
  const looks = () => db.query('select 1 from missing_domains where organization_id = $1', [tenant.organizationId]);

  it('bounces without suppressing the address on one day, however often', async () => {
    await look();
    await look();
    await look();
    expect(await suppressions()).toEqual([]);
    expect(await looks()).toHaveLength(1);
  });

  it('suppresses it on the second day', async () => {
    await look();
    await pass(1);
    await look();
    expect(await suppressions()).toEqual([
      { email: EMAIL, reason: 'hard_bounce', source: 'automatic', expires_at: null },
    ]);
  });

  it('begins again after the window, and is forgotten then', async () => {
    await look();
    await pass(31);
    await look();
    expect(await suppressions()).toEqual([]);
    await core.get(ClearSuppressionsJob).run();
    expect(await looks()).toHaveLength(1);
    await pass(32);
    await core.get(ClearSuppressionsJob).run();
    expect(await looks()).toEqual([]);
  });

  it('stays one of its own organization and mode', async () => {
    await look();
    await pass(1);
    tenant = await createTenant(db);
    await look();
    expect(await suppressions()).toEqual([]);
  });
});
