import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module';
import { ApiKey, OperatorKey } from './api-key.entity';
import { ApiKeyVerifier } from './api-key-verifier.service';
import { ApiKeysController } from './api-keys.controller';
import { ApiKeysRepository } from './api-keys.repository';
import { ApiKeysService } from './api-keys.service';
import { ConsoleCookie } from './console-cookie';
import { ConsoleLinksService } from './console-links.service';
import { ConsoleLink, ConsoleSession } from './console-session.entity';
import { ConsoleSessionsRepository } from './console-sessions.repository';
import { ConsoleSessionsService } from './console-sessions.service';
import { ConsoleSignOut } from './console-sign-out.service';
import { Organization } from './organization.entity';
import { OrganizationsRepository } from './organizations.repository';
import { OrganizationsService } from './organizations.service';
import { OperatorKeysRepository } from './operator-keys.repository';
import { OperatorKeysService } from './operator-keys.service';
import { RefusedAccessService } from './refused-access.service';

/** Organizations and API keys. The guards are registered in the root module, in the order in which they run. */
@Module({
  imports: [AuditModule, TypeOrmModule.forFeature([ApiKey, ConsoleLink, ConsoleSession, OperatorKey, Organization])],
  controllers: [ApiKeysController],
  providers: [
    ...[ApiKeysRepository, ApiKeysService, ApiKeyVerifier],
    ...[OperatorKeysRepository, OperatorKeysService],
    ...[ConsoleCookie, ConsoleLinksService, ConsoleSessionsRepository, ConsoleSessionsService, ConsoleSignOut],
    ...[OrganizationsRepository, OrganizationsService, RefusedAccessService],
  ],
  exports: [
    ...[ApiKeysService, ApiKeyVerifier, ConsoleCookie, ConsoleLinksService, ConsoleSessionsService, ConsoleSignOut],
    ...[OperatorKeysService, OrganizationsService, RefusedAccessService],
  ],
})
export class AuthModule {}
