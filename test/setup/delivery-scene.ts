import { OrganizationsService } from '../../src/auth/organizations/organizations.service';
import { type Clock, DatabaseClock } from '../../src/common/clock';
import type { Mode } from '../../src/common/tenant';
import { DomainsService } from '../../src/modules/domains/domains.service';
import { SendEmailsService } from '../../src/modules/emails/accept/send-emails.service';
import { sendBody } from '../factories/send-requests';
import { readStoredEmail, type StoredEmail } from '../factories/stored-email';
import type { Tenant } from '../factories/tenants';
import { type Core, startCore } from './core-context';
import { type OpenTestDatabase, openTestDatabase } from './open-test-database';
import { waitFor } from './wait-for';
import { startWorker, type WorkerOptions } from './worker-context';

/** An accepting process, a database and a tenant that can sign; workers are started and stopped by the test. */
export class DeliveryScene {
  private readonly workers = new Set<Core>();

  private constructor(
    readonly db: OpenTestDatabase,
    readonly core: Core,
    readonly tenant: Tenant,
    readonly clock: Clock,
  ) {}

  static async open(clock: Clock = new DatabaseClock()): Promise<DeliveryScene> {
    const db = await openTestDatabase({ poolSize: 3, applicationName: 'observer' });
    const core = await startCore(db.url, { clock });
    return new DeliveryScene(db, core, await createSigningTenant(core), clock);
  }

  async accept(fields: Record<string, unknown> = {}, mode: Mode = 'live', tenant = this.tenant): Promise<string> {
    const { accepted } = await this.core.get(SendEmailsService).sendOne(sendBody(fields), undefined, tenant.as(mode));
    return accepted.id;
  }

  /** One email to each of the local parts, at x.example. */
  acceptTo(...localParts: string[]): Promise<string[]> {
    return Promise.all(localParts.map((localPart) => this.accept({ to: [`${localPart}@x.example`] })));
  }

  async startWorker(options: WorkerOptions & { url?: string }): Promise<Core> {
    const worker = await startWorker(options.url ?? this.db.url, { clock: this.clock, ...options });
    this.workers.add(worker);
    return {
      ...worker,
      close: () => {
        this.workers.delete(worker);
        return worker.close();
      },
    };
  }

  read(id: string): Promise<StoredEmail> {
    return readStoredEmail(this.db, id);
  }

  /** The rows of an email once the condition holds. */
  async readWhen(id: string, isAsWanted: (rows: StoredEmail) => boolean, what: string): Promise<StoredEmail> {
    return waitFor(
      async () => {
        const rows = await this.read(id);
        return isAsWanted(rows) && rows;
      },
      { what },
    );
  }

  readWhenStatus(id: string, status: string): Promise<StoredEmail> {
    return this.readWhen(id, ({ email }) => email.status === status, `the email to be ${status}`);
  }

  /** Open deliveries by state. */
  async queue(): Promise<Record<string, number>> {
    const rows = await this.db.query<{ state: string; count: number }>(
      'select state, count(*)::int from deliveries group by state',
    );
    return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
  }

  /** Ends every worker, and empties the queue for the next test. */
  async clear(): Promise<void> {
    await Promise.all([...this.workers].map((worker) => worker.close()));
    this.workers.clear();
    // Workers also learn from those that have ended.
    const tables = ['deliveries', 'worker_sessions', 'suppressions', 'destination_reports', 'destination_rules'];
    await this.db.query([...tables, 'egress_suspensions'].map((table) => `delete from ${table}`).join('; '));
  }

  async close(): Promise<void> {
    await this.clear();
    await this.core.close();
    await this.db.drop();
  }
}

export async function createSigningTenant(core: Core, name = 'acme.example'): Promise<Tenant> {
  const { id: organizationId } = await core.get(OrganizationsService).create('Acme');
  const { id: domainId, domain } = await core.get(DomainsService).add(organizationId, name);
  await core.get(DomainsService).markVerified(organizationId, domain);
  return { organizationId, domainId, domain, as: (mode, boundTo) => ({ organizationId, mode, domainId: boundTo }) };
}
