import { type DynamicModule, Global, Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module';
import { JobsModule } from '../../common/jobs/jobs.module';
import { Metrics } from '../../common/metrics/metrics';
import type { AppConfig } from '../../config/config';
import { ConfigModule } from '../../config/config.module';
import { DatabaseModule } from '../../database/database.module';
import { DeliveryQueueModule } from '../../delivery/queue/delivery-queue.module';
import { DomainsModule } from '../../modules/domains/domains.module';
import { InboundModule } from '../../modules/inbound/inbound.module';
import { SuppressionsModule } from '../../modules/suppressions/suppressions.module';
import { PrivacyModule } from '../../modules/privacy/privacy.module';
import { WebhooksModule } from '../../modules/webhooks/webhooks.module';
import { EmailsModule } from '../../modules/emails/emails.module';

/** The services behind the command line: those of the API, without HTTP. Global, so that every module finds `Metrics`. */
@Global()
@Module({})
export class CliModule {
  /** @param url of a database whose schema is up to date */
  static register(config: AppConfig, url: string): DynamicModule {
    return {
      module: CliModule,
      imports: [
        ConfigModule.register(config),
        DatabaseModule.register(url, 'waybill-cli'),
        JobsModule.register({ run: false }),
        AuthModule,
        DomainsModule,
        InboundModule,
        EmailsModule,
        PrivacyModule,
        WebhooksModule,
        SuppressionsModule,
        DeliveryQueueModule,
      ],
      providers: [Metrics],
      exports: [Metrics],
    };
  }
}
