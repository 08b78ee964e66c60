import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { ApiModule } from '../../../src/api.module';
import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { OrganizationsService } from '../../../src/auth/organizations/organizations.service';
import { type Modules, ProcessModule } from '../../../src/bootstrap/process.module';
import { ALL_SCOPES, type Scope } from '../../../src/common/http/scopes';
import { createHttpAdapter } from '../../../src/common/http/server/http-server';
import { translateDatabaseError } from '../../../src/database/statements/database-errors';
import { buildOpenApiDocument, setUpDocs } from '../../../src/openapi/docs';
import { type DnsRecords, DnsServer } from '../../doubles/dns-server';
import { FakeClock } from '../../doubles/fake-clock';
import { ApiClient } from '../../e2e/kit/api-client';
import { testConfig } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

export interface Owner {
  readonly organizationId: string;
  /** The key of `api`. */
  readonly keyId: string;
  readonly key: string;
  /** With every scope. */
  readonly api: ApiClient;
  /** A further key. */
  client(scopes: readonly Scope[], domainId?: string): Promise<ApiClient>;
}

/** The description of the API, which is the same for every app; its client holds each response against it. */
let description: ReturnType<typeof buildOpenApiDocument> | undefined;

/** The API of one process on a database of its own, with a DNS whose records the test sets. */
export class DomainsApp {
  readonly clock = new FakeClock();

  private constructor(
    readonly db: OpenTestDatabase,
    readonly dns: DnsServer,
    private readonly app: NestExpressApplication,
    readonly port: number,
  ) {}

  /** @param modules besides those of the API */
  static async start(env: Record<string, string> = {}, modules: Modules = []): Promise<DomainsApp> {
    const db = await openTestDatabase({ poolSize: 3, applicationName: 'observer' });
    const dns = await DnsServer.start();
    const clock = new FakeClock();
    const config = testConfig({ DNS_SERVERS: dns.endpoint, RATE_LIMIT_ENABLED: 'false', ...env });
    const module = ProcessModule.register({ config, databaseUrl: db.url, clock, imports: [ApiModule, ...modules] });
    const adapter = createHttpAdapter({ translateError: translateDatabaseError });
    const app = await NestFactory.create<NestExpressApplication>(module, adapter, {
      logger: false,
      abortOnError: false,
    });
    if (modules.length === 0) setUpDocs(app, (description ??= buildOpenApiDocument(app)));
    await app.listen(0, '127.0.0.1');
    const { port } = adapter.getHttpServer().address() as AddressInfo;
    return Object.assign(new DomainsApp(db, dns, app, port), { clock });
  }

  get<T>(type: abstract new (...args: never[]) => T): T {
    return this.app.get<T>(type, { strict: false });
  }

  /** A new organization with a key. */
  async owner(name = 'Acme'): Promise<Owner> {
    const { id: organizationId } = await this.get(OrganizationsService).create(name);
    const keys = this.get(ApiKeysService);
    const client = async (scopes: readonly Scope[], domainId?: string) =>
      keys.create(organizationId, { name, mode: 'live', scopes, domainId });
    const { id: keyId, key } = await client(ALL_SCOPES);
    return {
      organizationId,
      keyId,
      key,
      api: new ApiClient(this.port, key),
      client: async (scopes, domainId) => new ApiClient(this.port, (await client(scopes, domainId)).key),
    };
  }

  /** Puts all records of a domain into the DNS. */
  publish(domain: { records: { type: string; host: string; value: string }[] }): void {
    const zones = domain.records.map(({ type, host, value }) => [host, recordsOf(type, value)] as const);
    this.dns.set(Object.fromEntries(zones));
  }

  /** What has been written down about an organization but the set-up of a test, oldest first. */
  audit(organizationId: string) {
    return this.db.query<{ actor: string; action: string; target_id: string; data: object }>(
      `select actor, action, target_id, data from audit_log
       where organization_id = $1 and action !~ '^(organization|api_key)[.]created' order by id`,
      [organizationId],
    );
  }

  async close(): Promise<void> {
    // A client that has aborted a request opens a connection for its next one; Node waits a minute for that.
    this.app.getHttpServer().closeAllConnections();
    await this.app.close();
    await this.dns.stop();
    await this.db.drop();
  }
}

/** A string of a TXT record has 255 characters at most (RFC 1035 section 3.3). */
function recordsOf(type: string, value: string): DnsRecords {
  return type === 'CNAME' ? { CNAME: value } : { TXT: [value.match(/.{1,255}/g) ?? []] };
}
