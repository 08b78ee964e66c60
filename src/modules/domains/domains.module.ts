import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../auth/auth.module';
import { DomainOwnership } from '../../auth/api-keys.service';
import { AuditModule } from '../../audit/audit.module';
import { DomainNames } from '../stats/domain-names.service';
import { DefaultDomainService } from './default-domain.service';
import { DkimKey } from './dkim/dkim-key.entity';
import { DkimKeyMaker } from './dkim/dkim-key-maker';
import { DkimKeysRepository } from './dkim/dkim-keys.repository';
import { DkimKeysService } from './dkim/dkim-keys.service';
import { DkimRotationService } from './dkim/dkim-rotation.service';
import { DkimVault } from './dkim/dkim-vault';
import { Domain } from './domain.entity';
import { DomainCheck } from './domain-check.entity';
import { DomainChecksRepository } from './domain-checks.repository';
import { DomainDetailsService } from './domain-details.service';
import { DomainNamesService } from './domain-names.service';
import { DomainInspectionService } from './domain-inspection.service';
import { DomainRegistrationService } from './domain-registration.service';
import { DomainRemovalService } from './domain-removal.service';
import { DomainReportsService } from './domain-reports.service';
import { DomainSetUpController } from './domain-set-up.controller';
import { DomainsController } from './domains.controller';
import { DomainsRepository } from './domains.repository';
import { RemovedDomain } from './removed-domain.entity';
import { DomainsService } from './domains.service';
import { SenderNames } from './sender-names';
import { SigningKeysService } from './dkim/signing-keys.service';
import { DomainVerificationService } from './verification/domain-verification.service';
import { VERIFICATION_PROVIDERS } from './verification/verification.providers';
import { WarmUpModule } from './restrictions/warm-up/warm-up.module';

const NAMES = [DefaultDomainService, DomainRegistrationService, DomainRemovalService, DomainsRepository, SenderNames];
const KEYS = [DkimKeyMaker, DkimKeysRepository, DkimKeysService, DkimRotationService, DkimVault, SigningKeysService];
const RECORDS = [DomainChecksRepository, DomainDetailsService, DomainInspectionService, DomainReportsService];

/** Global because auth and stats, which stand below, ask it about domains through ports of their own. */
@Global()
@Module({
  imports: [
    TypeOrmModule.forFeature([Domain, DkimKey, DomainCheck, RemovedDomain]),
    AuditModule,
    AuthModule,
    WarmUpModule,
  ],
  controllers: [DomainsController, DomainSetUpController],
  providers: [
    ...NAMES,
    ...KEYS,
    ...RECORDS,
    DomainsService,
    ...VERIFICATION_PROVIDERS,
    { provide: DomainOwnership, useExisting: DomainsService },
    { provide: DomainNames, useClass: DomainNamesService },
  ],
  exports: [
    ...[DkimKeysService, DomainInspectionService, DomainsService, DomainVerificationService],
    ...[SigningKeysService, DomainNames, DomainOwnership],
  ],
})
export class DomainsModule {}
