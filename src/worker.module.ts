import { Module } from '@nestjs/common';
import { AuditModule } from './audit/audit.module';
import { AuditService, INSTALLATION, SYSTEM } from './audit/audit.service';
import { AuthModule } from './auth/auth.module';
import { OrganizationsService } from './auth/organizations/organizations.service';
import { Clock } from './common/clock';
import { AppConfig } from './config/config';
import { DeliveryModule, DeliveryQueueModule } from './delivery/delivery.module';
import { MessageSource, OperatorLog, OrdinalSource, SigningKeySource, WeightSource } from './delivery/ports/sources';
import { OutcomeSink } from './delivery/ports/outcome';
import { createRouter } from './delivery/routing/create-router';
import { Router } from './delivery/routing/router';
import { DanePolicies } from './delivery/tls/dane.service';
import { MtaStsPolicies } from './delivery/tls/mta-sts.service';
import { PolicyRouter } from './delivery/tls/policy-router';
import { DomainsModule } from './modules/domains/domains.module';
import { SigningKeysService } from './modules/domains/dkim/signing-keys.service';
import { EmailsModule } from './modules/emails/emails.module';
import { OutcomeRecorder } from './modules/emails/outcomes/outcome-recorder.service';
import { OutgoingMessagesService } from './modules/emails/outgoing-messages.service';
import { ReportProcessingModule } from './modules/inbound-reports/inbound-reports.module';
import { InboundMailModule } from './modules/inbound-mail/inbound-mail.module';
import { InboundMailService } from './modules/inbound-mail/inbound-mail.service';
import { LocalMailboxModule } from './modules/local-mailbox/local-mailbox.module';
import { MailboxSmtpServer } from './modules/local-mailbox/mailbox-smtp.server';
import { PrivacyModule } from './modules/privacy/privacy.module';
import { StatsModule } from './modules/stats/stats.module';
import { SuppressionsModule } from './modules/suppressions/suppressions.module';
import { TlsReportingModule } from './modules/tls-reporting/tls-reporting.module';
import { WebhookDispatchModule, WebhooksModule } from './modules/webhooks/webhooks.module';

/** Gives the engine what it asks for through its ports. */
@Module({
  imports: [
    ...[AuditModule, AuthModule, DeliveryQueueModule, DomainsModule, EmailsModule],
    ...[InboundMailModule, LocalMailboxModule],
  ],
  providers: [
    { provide: MessageSource, useExisting: OutgoingMessagesService },
    { provide: SigningKeySource, useExisting: SigningKeysService },
    { provide: OutcomeSink, useExisting: OutcomeRecorder },
    { provide: OrdinalSource, useExisting: OrganizationsService },
    { provide: WeightSource, useExisting: OrganizationsService },
    {
      provide: OperatorLog,
      inject: [AuditService],
      useFactory: (audit: AuditService): OperatorLog => ({
        record: (entries, tx) =>
          audit.record(
            entries.map((entry) => ({ ...entry, organizationId: INSTALLATION, actor: SYSTEM })),
            tx,
          ),
      }),
    },
    {
      provide: Router,
      inject: [AppConfig, Clock, MailboxSmtpServer, InboundMailService, MtaStsPolicies, DanePolicies],
      // oxlint-disable-next-line waybill/parameters -- Nest passes what it injects one by one
      useFactory: async (
        { delivery }: AppConfig,
        clock: Clock,
        mailbox: MailboxSmtpServer,
        received: InboundMailService,
        mtaSts: MtaStsPolicies,
        dane: DanePolicies,
      ): Promise<Router> => {
        const router = await createRouter(delivery, clock, () => mailbox.listen(), received.receives);
        if (delivery.mode !== 'direct') return router;
        return new PolicyRouter(router, mtaSts, delivery.dnssecTrusted ? dane : undefined);
      },
    },
  ],
  exports: [MessageSource, SigningKeySource, OperatorLog, OutcomeSink, OrdinalSource, WeightSource, Router],
})
class PortsModule {}

/** Role `worker`: the engine, and the background jobs of the features. */
@Module({
  imports: [
    DeliveryModule.register([PortsModule]),
    DomainsModule,
    EmailsModule,
    PrivacyModule,
    ReportProcessingModule,
    StatsModule,
    SuppressionsModule,
    TlsReportingModule,
    WebhookDispatchModule,
    WebhooksModule,
  ],
})
export class WorkerModule {}
