import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../../audit/audit.module';
import { DnsResolver } from '../../common/dns/dns-resolver';
import { NodeDnsResolver } from '../../common/dns/node-dns-resolver';
import { AppConfig } from '../../config/config';
import { AuthenticationService } from './authentication.service';
import { DeleteOldInboundEmailsJob } from './delete-old-inbound-emails.job';
import { InboundAddressesBackfill } from './inbound-addresses.backfill';
import { InboundEmail, InboundEmailPart, InboundRoute, InboundUsage } from './inbound-email.entity';
import { InboundEmailsController } from './inbound-emails.controller';
import { InboundEmailsRepository } from './inbound-emails.repository';
import { InboundEmailsService } from './inbound-emails.service';
import { InboundMailLimits } from './inbound-mail-limits';
import { InboundMailService } from './inbound-mail.service';
import { InboundSubjectsService } from './inbound-subjects.service';
import { InboundRoutesController } from './inbound-routes.controller';
import { InboundRoutesRepository } from './inbound-routes.repository';
import { InboundRoutesService } from './inbound-routes.service';

/** Inbound mail: routes, what has come by them, and how the listener hands it in. */
@Module({
  imports: [TypeOrmModule.forFeature([InboundRoute, InboundEmail, InboundEmailPart, InboundUsage]), AuditModule],
  controllers: [InboundRoutesController, InboundEmailsController],
  providers: [
    ...[InboundMailLimits, InboundRoutesRepository, InboundRoutesService, InboundMailService, AuthenticationService],
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
