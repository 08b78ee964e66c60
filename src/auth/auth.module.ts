import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module';
import { ApiKey, ConsoleLink, ConsoleSession, OperatorKey, Organization } from './auth.entity';
import { ApiKeyVerifier } from './api-key-verifier.service';
import { ApiKeysController } from './api-keys.controller';
import { ApiKeysRepository, OperatorKeysRepository } from './api-keys.repository';
import { ApiKeysService } from './api-keys.service';
import { ConsoleCookie } from './console-cookie';
import { ConsoleLinksService } from './console-links.service';
import { ConsoleSessionsRepository } from './console-sessions.repository';
import { ConsoleSessionsService, ConsoleSignOut } from './console-sessions.service';
import { OrganizationsRepository } from './organizations.repository';
import { OrganizationsService } from './organizations.service';
import { OperatorKeysService } from './operator-keys.service';
import { RefusedAccessService } from './refused-access.service';
import { SessionKeysJob } from './session-keys.job';

/** Organizations and API keys. The guards are registered in the root module, in the order in which they run. */
@Module({
  imports: [AuditModule, TypeOrmModule.forFeature([ApiKey, ConsoleLink, ConsoleSession, OperatorKey, Organization])],
  controllers: [ApiKeysController],
  providers: [
    ...[ApiKeysRepository, ApiKeysService, ApiKeyVerifier],
    ...[OperatorKeysRepository, OperatorKeysService],
    ...[ConsoleCookie, ConsoleLinksService, ConsoleSessionsRepository, ConsoleSessionsService, ConsoleSignOut],
    ...[OrganizationsRepository, OrganizationsService, RefusedAccessService, SessionKeysJob],
  ],
  exports: [
    ...[ApiKeysService, ApiKeyVerifier, ConsoleCookie, ConsoleLinksService, ConsoleSessionsService, ConsoleSignOut],
    ...[OperatorKeysService, OrganizationsService, RefusedAccessService],
  ],
})
export class AuthModule {}
