import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AuthModule } from '../../auth/auth.module';
import { createProcess } from '../../bootstrap/create-process';
import type { AppConfig } from '../../config/config';
import { DeliveryQueueModule } from '../../delivery/delivery.module';
import { DomainsModule } from '../../modules/domains/domains.module';
import { EmailsModule } from '../../modules/emails/emails.module';
import { InboundReportsModule } from '../../modules/inbound-reports/inbound-reports.module';
import { OperatorModule } from '../../modules/operator/operator.module';
import { PrivacyModule } from '../../modules/privacy/privacy.module';
import { SuppressionsModule } from '../../modules/suppressions/suppressions.module';
import { WebhooksModule } from '../../modules/webhooks/webhooks.module';

/** Whose services the commands call: those of the API, without HTTP. */
const MODULES = [
  ...[AuthModule, DeliveryQueueModule, DomainsModule, EmailsModule],
  ...[InboundReportsModule, OperatorModule, PrivacyModule, SuppressionsModule, WebhooksModule],
];

/**
 * The services of the commands, on a database whose schema is up to date; to be closed. Apart from the session, as it loads nearly all
 * of the service: help, `migrate` and `cluster` do without.
 */
export function createServices(config: AppConfig, databaseUrl: string): Promise<INestApplicationContext> {
  const options = { config, databaseUrl, applicationName: 'waybill-cli', imports: MODULES };
  return createProcess(options, (module) =>
    NestFactory.createApplicationContext(module, { logger: false, abortOnError: false }),
  );
}
