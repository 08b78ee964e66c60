import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module';
import { ApiKey } from './api-key.entity';
import { RefusedAccessService } from './refused-access.service';
import { ApiKeyVerifier } from './api-key-verifier.service';
import { ApiKeysController } from './api-keys.controller';
import { ApiKeysRepository } from './api-keys.repository';
import { ApiKeysService } from './api-keys.service';
import { Organization } from './organization.entity';
import { OrganizationsRepository } from './organizations.repository';
import { OrganizationsService } from './organizations.service';

/** Organizations and API keys. The guards are registered in the root module, in the order in which they run. */
@Module({
  imports: [AuditModule, TypeOrmModule.forFeature([Organization, ApiKey])],
  controllers: [ApiKeysController],
  providers: [
    RefusedAccessService,
    OrganizationsRepository,
    OrganizationsService,
    ApiKeysRepository,
    ApiKeysService,
    ApiKeyVerifier,
  ],
  exports: [RefusedAccessService, OrganizationsService, ApiKeysService, ApiKeyVerifier],
})
export class AuthModule {}
