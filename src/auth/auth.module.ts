import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module';
import { ConsoleLink, ConsoleSession } from './console-sessions/console-session.entity';
import { ApiKey, OperatorKey } from './keys/api-key.entity';
import { Organization } from './organizations/organization.entity';
import { ApiKeyVerifier } from './keys/api-key-verifier.service';
import { ApiKeysController } from './keys/api-keys.controller';
import { ApiKeysRepository, OperatorKeysRepository } from './keys/api-keys.repository';
import { ApiKeysService } from './keys/api-keys.service';
import { ConsoleCookie } from './console-sessions/console-cookie';
import { ConsoleLinksService } from './console-sessions/console-links.service';
import { ConsoleSessionsRepository } from './console-sessions/console-sessions.repository';
import { ConsoleSessionsService, ConsoleSignOut } from './console-sessions/console-sessions.service';
import { OrganizationsRepository } from './organizations/organizations.repository';
import { OrganizationsService } from './organizations/organizations.service';
import { OperatorKeysService } from './keys/operator-keys.service';
import { RefusedAccessService } from './keys/refused-access.service';
import { SessionKeysJob } from './keys/session-keys.job';

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
