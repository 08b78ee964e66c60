import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DomainOwnership } from '../../auth/domain-ownership';
import { DkimKey } from './dkim-key.entity';
import { DkimVault } from './dkim-vault';
import { Domain } from './domain.entity';
import { DomainsRepository } from './domains.repository';
import { DomainsService } from './domains.service';
import { SigningKeysService } from './signing-keys.service';

/** Global because auth, a floor below, asks it who owns a domain through a port of its own. */
@Global()
@Module({
  imports: [TypeOrmModule.forFeature([Domain, DkimKey])],
  providers: [
    DomainsRepository,
    DkimVault,
    DomainsService,
    SigningKeysService,
    { provide: DomainOwnership, useExisting: DomainsService },
  ],
  exports: [DomainsService, SigningKeysService, DomainOwnership],
})
export class DomainsModule {}
