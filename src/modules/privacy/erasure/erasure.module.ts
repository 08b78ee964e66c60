import { Module } from '@nestjs/common';
import { EmailsModule } from '../../emails/emails.module';
import { InboundModule } from '../../inbound/inbound.module';
import { MailboxModule } from '../../mailbox/mailbox.module';
import { SuppressionsModule } from '../../suppressions/suppressions.module';
import { PrivacyRequestsModule } from '../privacy-requests.module';
import { ErasedRequests } from './erased-requests.service';
import { ErasedRequestsRepository } from './erased-requests.repository';
import { ErasureHandler } from './erasure-handler.service';
import { ErasureSteps } from './erasure-steps.service';

/** What a worker needs to erase a subject. */
@Module({
  imports: [EmailsModule, InboundModule, MailboxModule, PrivacyRequestsModule, SuppressionsModule],
  providers: [ErasedRequests, ErasedRequestsRepository, ErasureHandler, ErasureSteps],
  exports: [ErasureHandler],
})
export class ErasureModule {}
