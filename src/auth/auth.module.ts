import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module';
import { ApiKey } from './api-key.entity';
import { ApiKeyVerifier } from './api-key-verifier.service';
import { ApiKeysController } from './api-keys.controller';
import { ApiKeysRepository } from './api-keys.repository';
import { ApiKeysService } from './api-keys.service';
import { Organization } from './organization.entity';
import { OrganizationsRepository } from './organizations.repository';
import { OrganizationsService } from './organizations.service';
import { OperatorKey } from './operator-key.entity';
import { OperatorKeysRepository } from './operator-keys.repository';
import { OperatorKeysService } from './operator-keys.service';
import { RefusedAccessService } from './refused-access.service';

/** Organizations and API keys. The guards are registered in the root module, in the order in which they run. */
@Module({
  imports: [AuditModule, TypeOrmModule.forFeature([ApiKey, OperatorKey, Organization])],
  controllers: [ApiKeysController],
  providers: [
    ...[ApiKeysRepository, ApiKeysService, ApiKeyVerifier],
    ...[OperatorKeysRepository, OperatorKeysService],
    ...[OrganizationsRepository, OrganizationsService, RefusedAccessService],
  ],
  exports: [ApiKeysService, ApiKeyVerifier, OperatorKeysService, OrganizationsService, RefusedAccessService],
})
export class AuthModule {}
