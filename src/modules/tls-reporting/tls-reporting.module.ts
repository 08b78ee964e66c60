import { Module } from '@nestjs/common';
import { NodeDnsResolver } from '../../common/dns/node-dns-resolver';
import { EgressClient } from '../../common/egress/egress-client';
import { PublicEgressGuard } from '../../common/egress/egress-guard';
import { AppConfig } from '../../config/config';
import { DeliveryQueueModule } from '../../delivery/delivery.module';
import { DomainsModule } from '../domains/domains.module';
import { EmailsModule } from '../emails/emails.module';
import { ReportTlsJob, TlsReportSender } from './report-tls.job';

/** Role `worker`: sends receiving domains the reports on TLS that they request (RFC 8460). Those that others send are `inbound-reports`. */
@Module({
  imports: [DeliveryQueueModule, DomainsModule, EmailsModule],
  providers: [
    ...[TlsReportSender, ReportTlsJob],
    {
      provide: EgressClient,
      inject: [AppConfig],
      useFactory: ({ delivery: { dnsServers: servers, allowPrivateDestinations: allowPrivate } }: AppConfig) =>
        new EgressClient(
          new PublicEgressGuard(new NodeDnsResolver({ servers }), { allowLoopback: false, allowPrivate }),
        ),
    },
  ],
})
export class TlsReportingModule {}
