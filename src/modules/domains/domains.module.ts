import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../../audit/audit.module';
import { AuthModule } from '../../auth/auth.module';
import { DomainDirectory } from '../../auth/keys/domain-directory';
import { DnsResolver } from '../../common/dns/dns-resolver';
import { NodeDnsResolver } from '../../common/dns/node-dns-resolver';
import { AppConfig } from '../../config/config';
import { StatsModule } from '../stats/stats.module';
import { DmarcSourceRow, TlsResultRow } from './aggregate-reports/aggregate-reports.entity';
import { AggregateReportsRepository } from './aggregate-reports/aggregate-reports.repository';
import { DmarcReportsService, TlsReportsService } from './aggregate-reports/aggregate-reports.service';
import { DomainReportsController } from './aggregate-reports/domain-reports.controller';
import { ClearReportsJob, DomainRecheckJob, ExpiredDkimKeysJob } from './domains.job';
import { DkimKey } from './dkim/dkim-key.entity';
import { DkimKeyGenerator, DkimKeyring } from './dkim/dkim-keyring';
import { DkimKeysRepository } from './dkim/dkim-keys.repository';
import { DkimKeysService } from './dkim/dkim-keys.service';
import { EncryptedDkimKeysService, MasterKeyCheck } from './dkim/encrypted-dkim-keys.service';
import { SigningKeysService } from './dkim/signing-keys.service';
import { DomainDetailsService } from './domain-details.service';
import { DomainRegistrationService } from './domain-registration.service';
import { DomainsController } from './domains.controller';
import { DomainDirectoryService, DomainsService } from './domains.service';
import { DomainCheck } from './registry/domain-check.entity';
import { Domain, RemovedDomain, WarmUpUsage } from './registry/domain.entity';
import { DomainTransitionsService } from './registry/domain-transitions.service';
import { DomainsRepository } from './registry/domains.repository';
import { ReputationJob, RestrictionsJob, RestrictionsMetrics } from './restrictions/restrictions.job';
import { RestrictionsRepository } from './restrictions/restrictions.repository';
import { RestrictionsService } from './restrictions/restrictions.service';
import { WarmUpJob } from './restrictions/warm-up.job';
import { WarmUpChangesService, WarmUpService } from './restrictions/warm-up.service';
import { DnsCheckService, DomainInspectionService } from './verification/dns-check.service';
import { DomainVerificationService } from './verification/domain-verification.service';

const KEYS = [DkimKeyGenerator, DkimKeyring, DkimKeysRepository, DkimKeysService, EncryptedDkimKeysService];
const VERIFICATION = [DnsCheckService, DomainInspectionService, DomainVerificationService];
const RESTRICTIONS = [RestrictionsMetrics, RestrictionsRepository, RestrictionsService];
const WARM_UP = [WarmUpChangesService, WarmUpService];
const REPORTS = [DmarcReportsService, TlsReportsService];
const JOBS = [ClearReportsJob, DomainRecheckJob, ExpiredDkimKeysJob, ReputationJob, RestrictionsJob, WarmUpJob];

/** Sender domains. Global because auth and stats, which are lower layers, use domains through `DomainDirectory`. */
@Global()
@Module({
  imports: [
    TypeOrmModule.forFeature([Domain, RemovedDomain, DomainCheck, DkimKey, DmarcSourceRow, TlsResultRow, WarmUpUsage]),
    AuditModule,
    AuthModule,
    StatsModule,
  ],
  controllers: [DomainsController, DomainReportsController],
  providers: [
    ...[DomainDetailsService, DomainRegistrationService, DomainsRepository, DomainsService, DomainTransitionsService],
    ...[...KEYS, SigningKeysService, ...VERIFICATION, ...RESTRICTIONS, ...WARM_UP, ...JOBS],
    ...[AggregateReportsRepository, ...REPORTS],
    { provide: DomainDirectory, useClass: DomainDirectoryService },
    {
      provide: DnsResolver,
      inject: [AppConfig],
      useFactory: ({ delivery }: AppConfig) => new NodeDnsResolver({ servers: delivery.dnsServers }),
    },
  ],
  exports: [...REPORTS, DomainDirectory, DomainsService, RestrictionsService, SigningKeysService, WarmUpService],
})
export class DomainsModule {}

/**
 * Part of every process that encrypts, decrypts or signs. Separate from the rest of the domains, because the role `inbound`
 * needs nothing else of them, and the command line, which repairs a wrong master key, must start without the check.
 */
@Module({
  imports: [TypeOrmModule.forFeature([DkimKey])],
  providers: [DkimKeyring, DkimKeysRepository, EncryptedDkimKeysService, MasterKeyCheck],
})
export class MasterKeyCheckModule {}
