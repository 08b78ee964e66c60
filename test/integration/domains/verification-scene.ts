import { OrganizationsService } from '../../../src/auth/organizations/organizations.service';
import { AppConfig } from '../../../src/config/config';
import { DkimKeysService } from '../../../src/modules/domains/dkim/dkim-keys.service';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import type { Domain } from '../../../src/modules/domains/registry/domain.entity';
import { type WantedRecord, wantedRecords } from '../../../src/modules/domains/registry/wanted-records';
import { DnsServer, type DnsRecords } from '../../doubles/dns-server';
import { addDomain } from '../../factories/tenants';
import { FakeClock } from '../../doubles/fake-clock';
import { type Core, startCore } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';
import { startWorker } from '../../setup/worker-context';

/** A port on which nothing listens: no mail is sent here. */
const NO_HOP = 9;

/** A database, a DNS, a process that serves requests, and workers, all with one clock. */
export class VerificationScene {
  private readonly workers: Core[] = [];

  private constructor(
    readonly db: OpenTestDatabase,
    readonly dns: DnsServer,
    readonly core: Core,
    readonly clock: FakeClock,
  ) {}

  static async open(env: Record<string, string> = {}): Promise<VerificationScene> {
    const db = await openTestDatabase({ poolSize: 3, applicationName: 'observer' });
    const dns = await DnsServer.start();
    const clock = new FakeClock();
    const core = await startCore(db.url, { clock, env: { DNS_SERVERS: dns.endpoint, ...env } });
    return new VerificationScene(db, dns, core, clock);
  }

  /** Its jobs begin only when it is started. */
  async worker(env: Record<string, string> = {}): Promise<Core> {
    const settings = { DNS_SERVERS: this.dns.endpoint, ...env };
    const worker = await startWorker(this.db.url, { clock: this.clock, hopPort: NO_HOP, isRunning: false, env: settings }); // prettier-ignore
    this.workers.push(worker);
    return worker;
  }

  async organization(): Promise<string> {
    return (await this.core.get(OrganizationsService).create('Acme')).id;
  }

  /** A pending domain of an organization of its own. */
  async add(name: string, organizationId?: string): Promise<Domain> {
    return this.core.get(DomainsService).add(organizationId ?? (await this.organization()), name, 'operator');
  }

  /** Many pending domains of one organization, whose keys are none: making real ones takes long. */
  async addMany(names: readonly string[]): Promise<Domain[]> {
    const organizationId = await this.organization();
    for (const name of names) {
      const id = await addDomain(this.db, organizationId, { domain: name, status: 'pending' });
      await this.db.query(
        `insert into dkim_keys (organization_id, domain_id, selector, private_key_sealed, public_key)
         values ($1, $2, 'wb1', '', 'none')`,
        [organizationId, id],
      );
    }
    await this.db.query('update domains set next_check_at = $2, created_at = $2 where organization_id = $1', [
      organizationId,
      this.clock.now(),
    ]);
    return this.core.get(DomainsService).list(organizationId);
  }

  async records(domain: Domain): Promise<WantedRecord[]> {
    const keys = await this.core.get(DkimKeysService).published(domain.organizationId, domain.id);
    return wantedRecords(domain, keys, this.core.get(AppConfig).dns);
  }

  /** Puts every record of a domain into the DNS, beside what is at the same names. */
  async publish(...domains: Domain[]): Promise<void> {
    const zones: Record<string, { TXT?: string[]; CNAME?: string }> = {};
    for (const domain of domains) {
      for (const { type, host, value } of await this.records(domain)) {
        if (type === 'CNAME') zones[host] = { CNAME: value };
        else zones[host] = { TXT: [...(zones[host]?.TXT ?? []), value] };
      }
    }
    this.dns.set(zones);
  }

  /** From now on a name has these records, none by default. */
  answer(host: string, records: DnsRecords | 'servfail' | 'silent' = {}): void {
    this.dns.set({ [host]: records });
  }

  async read({ organizationId, id }: Domain): Promise<Domain> {
    const domain = await this.core.get(DomainsService).find(organizationId, id);
    if (!domain) throw new Error('The domain is gone');
    return domain;
  }

  async keyStates({ id }: Domain): Promise<Record<string, string>> {
    const rows = await this.db.query<{ selector: string; state: string }>(
      'select selector, state from dkim_keys where domain_id = $1',
      [id],
    );
    return Object.fromEntries(rows.map(({ selector, state }) => [selector, state]));
  }

  /** `actor action` of the changes by checks of a domain, oldest first. */
  async transitions({ id }: Domain): Promise<string[]> {
    const rows = await this.db.query<{ actor: string; action: string }>(
      `select actor, action from audit_log where target_id = $1 and action ~ '(verified|failed|activated)$' order by id`,
      [id],
    );
    return rows.map(({ actor, action }) => `${actor} ${action}`);
  }

  async close(): Promise<void> {
    for (const worker of this.workers) await worker.close();
    await this.core.close();
    await this.dns.stop();
    await this.db.drop();
  }
}
