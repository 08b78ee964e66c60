import 'reflect-metadata';
import { newId } from '../../../src/common/ids';
import { NodeDnsResolver } from '../../../src/common/dns/node-dns-resolver';
import { EGRESS_LIMITS, EgressClient, type EgressLimits } from '../../../src/common/egress/egress-client';
import { PublicEgressGuard } from '../../../src/common/egress/egress-guard';
import type { Mode } from '../../../src/common/tenant';
import { EmailsModule } from '../../../src/modules/emails/emails.module';
import { EventsService } from '../../../src/modules/events/events.service';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { SweepMessagesJob } from '../../../src/modules/webhooks/queue/webhooks.job';
import { EndpointRecovery } from '../../../src/modules/webhooks/dispatch/attempt-settler.service';
import { ExpandEventsJob } from '../../../src/modules/webhooks/dispatch/expand-events.job';
import { WebhookDispatcher } from '../../../src/modules/webhooks/dispatch/webhook-dispatcher.service';
import { WebhookDispatchModule } from '../../../src/modules/webhooks/webhooks.module';
import { WebhookSecrets } from '../../../src/modules/webhooks/endpoints/webhook-secrets.service';
import { FakeClock } from '../../doubles/fake-clock';
import { sendBody } from '../../factories/send-requests';
import { createTenant, type Tenant } from '../../factories/tenants';
import { contextOf, type Core, processOf, testConfig } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';
import { waitFor } from '../../setup/wait-for';

export interface TestEndpoint {
  readonly id: string;
  readonly secret: Buffer;
  readonly previousSecret: Buffer;
}

interface EndpointFields {
  readonly url: string;
  readonly events?: readonly string[];
  readonly domainId?: string;
  readonly mode?: Mode;
  /** Until when a secret from before is valid as well. */
  readonly previousUntil?: Date;
}

/** The dispatching part of a worker, one step at a time under a clock that stands still, with one organization. */
export class DispatchScene {
  private readonly processes: Core[] = [];

  private constructor(
    readonly db: OpenTestDatabase,
    readonly clock: FakeClock,
    readonly tenant: Tenant,
    readonly core: Core,
  ) {
    this.processes.push(core);
  }

  static async open(limits: Partial<EgressLimits> = {}): Promise<DispatchScene> {
    const db = await openTestDatabase({ poolSize: 2, applicationName: 'observer' });
    const clock = new FakeClock(new Date());
    return new DispatchScene(db, clock, await createTenant(db), await startDispatch(db.url, clock, limits));
  }

  /** Another process; it does nothing by itself either. */
  async startAnother(limits: Partial<EgressLimits> = {}): Promise<Core> {
    const core = await startDispatch(this.db.url, this.clock, limits);
    this.processes.push(core);
    return core;
  }

  async addEndpoint({ url, events = ['*'], ...fields }: EndpointFields): Promise<TestEndpoint> {
    const { organizationId } = this.tenant;
    const { mode = 'live', domainId = null, previousUntil = null } = fields;
    const secrets = this.core.get(WebhookSecrets);
    const [id, secret, previousSecret] = [newId(), secrets.create(), secrets.create()];
    const encrypt = (plain: Buffer) => secrets.encrypt(plain, { organizationId, mode, id });
    const position = await this.core.get(EventsService).head();
    await this.db.query(
      `insert into webhook_endpoints (
         organization_id, mode, id, domain_id, url, events, enabled, secret, previous_secret, previous_secret_until,
         position, created_at, updated_at
       ) values ($1, $2, $3, $4, $5, $6, true, $7, $8, $9, $10, $11, $11)`,
      [
        ...[organizationId, mode, id, domainId, url, events, encrypt(secret), previousUntil && encrypt(previousSecret)],
        ...[previousUntil, position, this.clock.now()],
      ],
    );
    return { id, secret, previousSecret };
  }

  /** Accepts an email, which is its first event. */
  async accept(mode: Mode = 'live'): Promise<string> {
    const { accepted } = await this.core.get(SendEmailsService).sendOne(sendBody(), undefined, this.tenant.as(mode));
    return accepted.id;
  }

  /** Gives an email further events. */
  async addEvents(emailId: string, ...types: string[]): Promise<void> {
    await this.db.query(
      `insert into email_events (organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data)
       select e.organization_id, e.mode, e.email_id, e.last + n.number, event_id(clock_timestamp(), n.number), n.type,
         'smtp', now(), '{}'
       from unnest($2::text[]) with ordinality as n (type, number)
       cross join (
         select organization_id, mode, email_id, max(sequence) as last
         from email_events where email_id = $1 group by 1, 2, 3
       ) e`,
      [emailId, types],
    );
  }

  /** Lets the expander run until there are so many messages in all. */
  async expand(total: number, core = this.core): Promise<void> {
    const made = async () => {
      await core.get(ExpandEventsJob).expand();
      return (await this.messages()).length >= total;
    };
    await waitFor(made, { what: `${total} messages` });
  }

  /** One claim, and all that comes of it. */
  async send(core = this.core): Promise<number> {
    const taken = await core.get(WebhookDispatcher).round();
    await core.get(WebhookDispatcher).ended();
    await core.get(EndpointRecovery).ended();
    return taken;
  }

  /** Claims until nothing is due. */
  async sendAll(core = this.core): Promise<void> {
    while ((await this.send(core)) > 0);
  }

  /** An event that has become messages. */
  async tell(total = 1): Promise<string> {
    const emailId = await this.accept();
    await this.expand(total);
    return emailId;
  }

  messages(): Promise<Record<string, any>[]> {
    return this.db.query('select * from webhook_messages order by endpoint_id, id');
  }

  async message(): Promise<Record<string, any>> {
    const [message, ...others] = await this.messages();
    if (!message || others.length > 0) throw new Error('there is not exactly one message');
    return message;
  }

  async endpoint(id: string): Promise<Record<string, any>> {
    const [endpoint] = await this.db.query('select * from webhook_endpoints where id = $1', [id]);
    return endpoint ?? {};
  }

  sweep(): SweepMessagesJob {
    return this.core.get(SweepMessagesJob);
  }

  /** Nothing is left of the last test but the tenant. */
  async clear(): Promise<void> {
    for (const core of this.processes) await core.get(WebhookDispatcher).ended();
    await this.db.query('delete from webhook_messages; delete from webhook_endpoints');
    // Pauses of the endpoints are over, and their slots forgotten.
    this.clock.advance(3_600_000);
  }

  async close(): Promise<void> {
    for (const core of this.processes) await core.close();
    await this.db.drop();
  }
}

async function startDispatch(url: string, clock: FakeClock, limits: Partial<EgressLimits>): Promise<Core> {
  const config = testConfig({ WEBHOOK_ALLOW_PRIVATE: 'true', DNS_SERVERS: '127.0.0.1:9' });
  const guard = new PublicEgressGuard(new NodeDnsResolver({ servers: ['127.0.0.1:9'] }), { allowLoopback: true });
  const options = { config, databaseUrl: url, clock, runJobs: true };
  const module = await processOf({ ...options, imports: [EmailsModule, WebhookDispatchModule] })
    .overrideProvider(EgressClient)
    .useValue(new EgressClient(guard, { ...EGRESS_LIMITS, ...limits }))
    .compile();
  return contextOf(module, false);
}
