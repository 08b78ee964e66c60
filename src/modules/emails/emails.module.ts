import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../auth/auth.module';
import { DeliveryQueueModule } from '../../delivery/queue/delivery-queue.module';
import { DomainsModule } from '../domains/domains.module';
import { WarmUpModule } from '../domains/warm-up/warm-up.module';
import { StatsModule } from '../stats/stats.module';
import { SuppressionsModule } from '../suppressions/suppressions.module';
import { AcceptCommit } from './accept/accept-commit';
import { AcceptRepository } from './accept/accept.repository';
import { AcceptService } from './accept/accept.service';
import { AcceptTransaction } from './accept/accept-transaction.service';
import { IdempotencyLedgerRepository } from './accept/idempotency-ledger.repository';
import { RecipientLimits } from './accept/recipient-limits';
import { SenderResolver } from './accept/sender-resolver';
import { TestQuotaRepository } from './accept/test-quota.repository';
import { AttachmentsRepository } from './attachments.repository';
import { CancelEmailService } from './cancel-email.service';
import { Email } from './email.entity';
import { EmailAttachment } from './email-attachment.entity';
import { EmailContent } from './email-content.entity';
import { EmailEvent } from './email-event.entity';
import { EmailRecipient } from './email-recipient.entity';
import { EmailsController } from './emails.controller';
import { EmailsRepository } from './emails.repository';
import { EmailsService } from './emails.service';
import { EventFeedRepository } from './feed/event-feed.repository';
import { EventFeedService } from './feed/event-feed.service';
import { OutcomeRecorder } from './outcomes/outcome-recorder.service';
import { OutcomesRepository } from './outcomes/outcomes.repository';
import { OutgoingMessagesRepository } from './outgoing-messages.repository';
import { OutgoingMessagesService } from './outgoing-messages.service';
import { SendEmailsController } from './send-emails.controller';
import { SendEmailsService } from './send-emails.service';

const ENTITIES = [Email, EmailContent, EmailAttachment, EmailRecipient, EmailEvent];
const ACCEPTING = [
  AcceptCommit,
  AcceptRepository,
  AcceptService,
  AcceptTransaction,
  IdempotencyLedgerRepository,
  RecipientLimits,
  SenderResolver,
  SendEmailsService,
  TestQuotaRepository,
];
const READING = [
  AttachmentsRepository,
  CancelEmailService,
  EmailsRepository,
  EmailsService,
  EventFeedRepository,
  EventFeedService,
];
const DELIVERING = [OutcomeRecorder, OutcomesRepository, OutgoingMessagesRepository, OutgoingMessagesService];

@Module({
  imports: [
    TypeOrmModule.forFeature(ENTITIES),
    AuthModule,
    DeliveryQueueModule,
    DomainsModule,
    StatsModule,
    SuppressionsModule,
    WarmUpModule,
  ],
  controllers: [SendEmailsController, EmailsController],
  providers: [...ACCEPTING, ...READING, ...DELIVERING],
  exports: [EmailsService, EventFeedService, OutcomeRecorder, OutgoingMessagesService],
})
export class EmailsModule {}
