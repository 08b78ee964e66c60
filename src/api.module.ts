import { Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { ApiKeyGuard, ScopeGuard } from './auth/access.guard';
import { AuthModule } from './auth/auth.module';
import { BodyGuard, UndeclaredInputGuard } from './common/http/request/body.guard';
import { ErrorFilter } from './common/http/responses/error-response';
import { DtoPipe } from './common/http/dto/validate-dto';
import { ConsoleModule } from './modules/console/console.module';
import { DomainsModule } from './modules/domains/domains.module';
import { EmailsModule } from './modules/emails/emails.module';
import { HealthModule } from './modules/health/health.module';
import { InboundMailModule } from './modules/inbound-mail/inbound-mail.module';
import { LocalMailboxModule } from './modules/local-mailbox/local-mailbox.module';
import { OperatorModule } from './modules/operator/operator.module';
import { PrivacyModule } from './modules/privacy/privacy.module';
import { StatsModule } from './modules/stats/stats.module';
import { SuppressionsModule } from './modules/suppressions/suppressions.module';
import { TemplatesModule } from './modules/templates/templates.module';
import { TrackingModule } from './modules/tracking/tracking.module';
import { WebhooksModule } from './modules/webhooks/webhooks.module';
import { RateLimitGuard } from './throttling/rate-limit.guard';
import { TenantTurnsGuard } from './throttling/tenant-turns.guard';
import { ThrottlingModule } from './throttling/throttling.module';

/** Role `api`. The guards run in the order in which they stand here: key, scope, limits, body. */
@Module({
  imports: [
    AuthModule,
    ThrottlingModule,
    ConsoleModule,
    DomainsModule,
    EmailsModule,
    LocalMailboxModule,
    OperatorModule,
    PrivacyModule,
    StatsModule,
    SuppressionsModule,
    TemplatesModule,
    TrackingModule,
    WebhooksModule,
    HealthModule,
    InboundMailModule,
  ],
  providers: [
    { provide: APP_FILTER, useClass: ErrorFilter },
    { provide: APP_PIPE, useClass: DtoPipe },
    { provide: APP_GUARD, useClass: ApiKeyGuard },
    { provide: APP_GUARD, useClass: ScopeGuard },
    { provide: APP_GUARD, useExisting: RateLimitGuard },
    { provide: APP_GUARD, useClass: BodyGuard },
    { provide: APP_GUARD, useExisting: TenantTurnsGuard },
    { provide: APP_GUARD, useClass: UndeclaredInputGuard },
  ],
})
export class ApiModule {}
