import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../auth/auth.module';
import { DeliveryQueueModule } from '../../delivery/queue/delivery-queue.module';
import { DomainsModule } from '../domains/domains.module';
import { WarmUpModule } from '../domains/restrictions/warm-up/warm-up.module';
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
import { EmailListRepository } from './list/email-list.repository';
import { EmailListService } from './list/email-list.service';
import { OutcomeRecorder } from './outcomes/outcome-recorder.service';
import { OutcomesRepository } from './outcomes/outcomes.repository';
import { ReportedEmails } from './outcomes/reported-email.service';
import { OutgoingMessagesRepository } from './outgoing-messages.repository';
import { OutgoingMessagesService } from './outgoing-messages.service';
import { RecipientLinks } from './recipient-links.service';
import { RecipientLookupRepository } from './recipient-lookup.repository';
import { RecipientLookup } from './recipient-lookup.service';
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
  EmailListRepository,
  EmailListService,
  EmailsRepository,
  EmailsService,
  RecipientLinks,
  RecipientLookup,
  RecipientLookupRepository,
];
const DELIVERING = [
  OutcomeRecorder,
  OutcomesRepository,
  OutgoingMessagesRepository,
  OutgoingMessagesService,
  ReportedEmails,
];

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
  exports: [EmailsService, OutcomeRecorder, OutgoingMessagesService, RecipientLinks, RecipientLookup, ReportedEmails],
})
export class EmailsModule {}
