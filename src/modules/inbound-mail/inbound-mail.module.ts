import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../../audit/audit.module';
import { DnsResolver } from '../../common/dns/dns-resolver';
import { NodeDnsResolver } from '../../common/dns/node-dns-resolver';
import { AppConfig } from '../../config/config';
import { AuthenticationLimits } from './authentication/authentication';
import { AuthenticationService } from './authentication/authentication.service';
import { DeleteOldInboundEmailsJob } from './emails/delete-old-inbound-emails.job';
import { InboundAddressesBackfill } from './emails/inbound-addresses.backfill';
import { InboundEmail, InboundEmailPart, InboundUsage } from './emails/inbound-email.entity';
import { InboundRoute } from './routes/inbound-route.entity';
import { InboundEmailsController } from './emails/inbound-emails.controller';
import { InboundEmailsRepository } from './emails/inbound-emails.repository';
import { InboundEmailsService } from './emails/inbound-emails.service';
import { InboundMailLimits } from './emails/inbound-mail-limits';
import { InboundMailService } from './inbound-mail.service';
import { InboundSubjectsService } from './emails/inbound-subjects.service';
import { InboundRoutesController } from './routes/inbound-routes.controller';
import { InboundRoutesRepository } from './routes/inbound-routes.repository';
import { InboundRoutesService } from './routes/inbound-routes.service';

/** Inbound mail: routes, what has come by them, and how the listener hands it in. */
@Module({
  imports: [TypeOrmModule.forFeature([InboundRoute, InboundEmail, InboundEmailPart, InboundUsage]), AuditModule],
  controllers: [InboundRoutesController, InboundEmailsController],
  providers: [
    ...[InboundMailLimits, InboundRoutesRepository, InboundRoutesService, InboundMailService],
    ...[AuthenticationLimits, AuthenticationService],
    ...[InboundEmailsRepository, InboundEmailsService, InboundSubjectsService, DeleteOldInboundEmailsJob],
    InboundAddressesBackfill,
    {
      provide: DnsResolver,
      inject: [AppConfig],
      useFactory: ({ delivery }: AppConfig) => new NodeDnsResolver({ servers: delivery.dnsServers }),
    },
  ],
  exports: [InboundEmailsService, InboundSubjectsService, InboundMailService],
})
export class InboundMailModule {}
