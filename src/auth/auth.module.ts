import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module';
import { ApiKey } from './api-key.entity';
import { ApiKeyVerifier } from './api-key-verifier.service';
import { ApiKeysController } from './api-keys.controller';
import { ApiKeysRepository } from './api-keys.repository';
import { ApiKeysService } from './api-keys.service';
import { OrganizationsModule } from './organizations.module';
import { RefusedAccessService } from './refused-access.service';

/** Organizations and API keys. The guards are registered in the root module, in the order in which they run. */
@Module({
  imports: [AuditModule, OrganizationsModule, TypeOrmModule.forFeature([ApiKey])],
  controllers: [ApiKeysController],
  providers: [RefusedAccessService, ApiKeysRepository, ApiKeysService, ApiKeyVerifier],
  exports: [OrganizationsModule, RefusedAccessService, ApiKeysService, ApiKeyVerifier],
})
export class AuthModule {}
