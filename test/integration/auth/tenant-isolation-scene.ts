import { insertInboundEmail } from '../../factories/inbound-emails';
import { randomUUID } from 'node:crypto';
import type { PoolClient } from 'pg';
import { DataSource } from 'typeorm';
import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { HOUR } from '../../../src/common/clock';
import { ALL_SCOPES, type Scope } from '../../../src/common/http/scopes';
import type { Mode } from '../../../src/common/tenant';
import { poolOf } from '../../../src/database/pool/data-source';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { type Answer, ApiClient } from '../../e2e/kit/api-client';
import { DomainsApp } from '../domains/domains-app';
import type { Kind } from './route-facts';

type Ids = Record<Kind, string>;

export interface KeyFields {
  readonly mode?: Mode;
  readonly scopes?: readonly Scope[];
  readonly domainId?: string;
}

/** An organization that has one of everything, in both modes. */
export interface Party {
  readonly organizationId: string;
  readonly domainId: string;
  readonly domain: string;
  /** Another domain of its own. */
  readonly otherDomainId: string;
  readonly objects: Readonly<Record<Mode, Ids>>;
  key(fields?: KeyFields): Promise<ApiClient>;
}

/** One app, and two organizations that must not see each other. */
export class TenantIsolationScene {
  private tables: string[] = [];

  private constructor(
    readonly app: DomainsApp,
    readonly parties: Party[],
  ) {}

  static async start(): Promise<TenantIsolationScene> {
    const app = await DomainsApp.start();
    // Ids of events and webhook messages are of the database's clock.
    app.clock.set(new Date());
    app.dns.set({ 'hooks.example.com': { A: ['93.184.215.14'] } });
    const scene = new TenantIsolationScene(app, []);
    for (const name of ['owner', 'rival']) scene.parties.push(await scene.party(name));
    const rows = await app.db.query<{ name: string }>(
      `select c.relname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
       where a.attname = 'organization_id' and c.relkind in ('r', 'p') and not c.relispartition
         and c.relnamespace = 'public'::regnamespace and c.relname <> 'audit_log'`,
    );
    scene.tables = rows.map(({ name }) => name);
    return scene;
  }

  /** A further object of this kind. */
  async make(kind: Kind, party: Pick<Party, 'key' | 'organizationId' | 'domain'>, mode: Mode): Promise<string> {
    const api = await party.key({ mode });
    switch (kind) {
      case 'email': {
        const scheduledAt = new Date(this.app.clock.now().getTime() + HOUR).toISOString();
        const fields = { from: `hello@${party.domain}`, to: ['a@x.example'], subject: 'Hello', text: 'Hello' };
        return idOf(await api.post('/v1/emails', { ...fields, scheduledAt }));
      }
      case 'domain':
        return (await this.addDomain(party.organizationId)).id;
      case 'api-key':
        return idOf(await api.post('/v1/api-keys', { name: 'object', mode, scopes: ['email:read'] }));
      case 'webhook':
        return idOf(await api.post('/v1/webhooks', { url: 'https://hooks.example.com/', events: ['*'] }));
      case 'export':
        return idOf(await api.post('/v1/gdpr/export', { email: `${randomUUID()}@x.example` }));
      case 'erasure':
        return idOf(await api.post('/v1/gdpr/delete-request', { email: someAddress(), confirmDelete: true }));
      case 'suppression': {
        const email = someAddress();
        idOf(await api.post('/v1/suppressions', { email, reason: 'manual' }));
        return email;
      }
      case 'template':
        return idOf(
          await (await party.key()).post('/v1/templates', { name: randomUUID(), subject: 'Hello', text: 'Hi' }),
        );
      case 'inbound-route': {
        const address = `${randomUUID()}@${party.domain}`;
        return idOf(await (await party.key()).post('/v1/inbound-routes', { address }));
      }
      case 'inbound-email':
        return insertInboundEmail(this.app.db, { organizationId: party.organizationId, mode });
      case 'first':
        return '0';
      case 'delivery':
        throw new Error('A delivery is made with its webhook');
      case 'nothing':
        return randomUUID();
    }
  }

  /** All that is stored of an organization; what notes that a key was used or refused is left out. */
  async stored(organizationId: string): Promise<string> {
    const each = this.tables.map(
      (table) =>
        `select '${table}' as name, md5(string_agg(row::text, ' ' order by row::text))
         from (select to_jsonb(t) - 'last_used_at' as row from ${table} t where organization_id = $1) rows`,
    );
    return JSON.stringify(await this.app.db.query(each.join(' union all '), [organizationId]));
  }

  /** The most connections to the database that the app had in use at a time meanwhile. */
  async peakConnections(work: () => Promise<unknown>): Promise<number> {
    const pool = poolOf(this.app.get(DataSource));
    const inUse = new Set<PoolClient>();
    let peak = 0;
    const take = (connection: PoolClient) => (peak = Math.max(peak, inUse.add(connection).size));
    // One that the background had before may be given back meanwhile.
    const give = (_error: unknown, connection: PoolClient) => inUse.delete(connection);
    pool.on('acquire', take).on('release', give);
    await work().finally(() => pool.off('acquire', take).off('release', give));
    return peak;
  }

  close(): Promise<void> {
    return this.app.close();
  }

  private async party(name: string): Promise<Party> {
    const { organizationId } = await this.app.owner(name);
    const { id: domainId, domain } = await this.addDomain(organizationId);
    const { id: otherDomainId } = await this.addDomain(organizationId);
    const known = new Map<string, ApiClient>();
    const key = async (fields: KeyFields = {}): Promise<ApiClient> => {
      const made = known.get(JSON.stringify(fields)) ?? (await this.newKey(organizationId, fields));
      known.set(JSON.stringify(fields), made);
      return made;
    };
    const owner = { organizationId, domain, key };
    const objects = {
      live: await this.objects(owner, domainId, 'live'),
      test: await this.objects(owner, domainId, 'test'),
    };
    return { ...owner, domainId, otherDomainId, objects };
  }

  private async objects(
    party: Pick<Party, 'key' | 'organizationId' | 'domain'>,
    domain: string,
    mode: Mode,
  ): Promise<Ids> {
    const make = (kind: Kind) => this.make(kind, party, mode);
    const webhook = await make('webhook');
    const delivery = idOf(await (await party.key({ mode })).post(`/v1/webhooks/${webhook}/test`));
    return {
      ...{ domain, webhook, delivery },
      email: await make('email'),
      'api-key': await make('api-key'),
      export: await make('export'),
      erasure: await make('erasure'),
      suppression: await make('suppression'),
      template: await make('template'),
      'inbound-route': await make('inbound-route'),
      'inbound-email': await this.inboundEmail(party.organizationId, domain, mode),
      first: '0',
      nothing: randomUUID(),
    };
  }

  /** Of the party's own domain, so that keys of the other one do not see it. */
  private inboundEmail(organizationId: string, domainId: string, mode: Mode): Promise<string> {
    return insertInboundEmail(this.app.db, { organizationId, domainId, mode });
  }

  private async addDomain(organizationId: string): Promise<{ id: string; domain: string }> {
    const domains = this.app.get(DomainsService);
    const { id, domain } = await domains.add(organizationId, `${randomUUID()}.example`);
    await domains.markVerified(organizationId, id);
    return { id, domain };
  }

  private async newKey(organizationId: string, { mode = 'live', scopes = ALL_SCOPES, domainId }: KeyFields) {
    const wanted = { name: 'caller', mode, scopes, domainId };
    return new ApiClient(this.app.port, (await this.app.get(ApiKeysService).create(organizationId, wanted)).key);
  }
}

function someAddress(): string {
  return `${randomUUID()}@x.example`;
}

/** The id of the object that a request has made. */
function idOf({ status, body }: Answer): string {
  const id = body.data?.id ?? body.data?.requestId ?? body.data?.deliveryId;
  if (status >= 300 || typeof id !== 'string') throw new Error(`${status} ${JSON.stringify(body)}`);
  return id;
}
