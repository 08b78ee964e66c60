import { NestFactory } from '@nestjs/core';
import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { ConsoleLinksService } from '../../../src/auth/console-sessions/console-links.service';
import { AuthModule } from '../../../src/auth/auth.module';
import { OrganizationsService } from '../../../src/auth/organizations/organizations.service';
import { ProcessModule } from '../../../src/bootstrap/process.module';
import { OperatorKeysService } from '../../../src/auth/keys/operator-keys.service';
import { ALL_SCOPES, type OperatorScope, type Scope } from '../../../src/common/http/scopes';
import type { Mode } from '../../../src/common/tenant';
import { loadConfig } from '../../../src/config/load-config';
import { DomainsModule } from '../../../src/modules/domains/domains.module';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { MASTER_KEY } from './service-process';

export interface Tenant {
  organizationId: string;
  domain: string;
  domainId: string;
  liveKey: string;
  testKey: string;
  /** A further key. */
  key(mode: Mode, scopes: Scope[], domainId?: string): Promise<string>;
}

/** Does what an operator does on the command line, through the same services. */
export class TenantFactory {
  private constructor(private readonly app: Awaited<ReturnType<typeof NestFactory.createApplicationContext>>) {}

  static async open(databaseUrl: string): Promise<TenantFactory> {
    const config = loadConfig({ DATABASE_URL: databaseUrl, MASTER_KEY, DATABASE_POOL_SIZE: '2' });
    const imports = [AuthModule, DomainsModule];
    const module = ProcessModule.register({ config, databaseUrl, applicationName: 'waybill-test', imports });
    return new TenantFactory(
      await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false }),
    );
  }

  async create(domain = 'acme.example'): Promise<Tenant> {
    const { id: organizationId } = await this.app
      .get(OrganizationsService, { strict: false })
      .create(`Owner of ${domain}`);
    const domains = this.app.get(DomainsService, { strict: false });
    const { id: domainId } = await domains.add(organizationId, domain);
    await domains.markVerified(organizationId, domain);
    const key = async (mode: Mode, scopes: Scope[] = ALL_SCOPES, boundTo?: string) => {
      const created = await this.app
        .get(ApiKeysService, { strict: false })
        .create(organizationId, { name: mode, mode, scopes, domainId: boundTo });
      return created.key;
    };
    return { organizationId, domain, domainId, liveKey: await key('live'), testKey: await key('test'), key };
  }

  async operatorKey(scopes: OperatorScope[] = ['operator:read', 'operator:manage']): Promise<string> {
    return (await this.app.get(OperatorKeysService, { strict: false }).create({ name: 'on call', scopes })).key;
  }

  /** The path of a link that signs in to the console. */
  async signInLink(organizationId: string): Promise<string> {
    return (await this.app.get(ConsoleLinksService, { strict: false }).create({ organizationId, mode: 'live' })).path;
  }

  suspend(organizationId: string): Promise<void> {
    return this.app.get(OrganizationsService, { strict: false }).setStatus(organizationId, 'suspended');
  }

  close(): Promise<void> {
    return this.app.close();
  }
}
