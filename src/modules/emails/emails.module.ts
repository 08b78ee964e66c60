import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../auth/auth.module';
import { DeliveryQueueModule } from '../../delivery/delivery.module';
import { DomainsModule } from '../domains/domains.module';
import { EventsModule } from '../events/events.module';
import { StatsModule } from '../stats/stats.module';
import { SuppressionsModule } from '../suppressions/suppressions.module';
import { TemplatesModule } from '../templates/templates.module';
import { AcceptCommit, AcceptTransaction } from './accept/commit/accept-commit.service';
import {
  AcceptRetentionJob,
  ContentRemovalJob,
  PartitionRetentionService,
  PartitionsJob,
} from './retention/retention.job';
import { AcceptRepository } from './accept/commit/accept.repository';
import { AcceptService } from './accept/commit/accept.service';
import {
  Email,
  EmailAttachment,
  EmailContent,
  EmailEvent,
  EmailRecipient,
  IdempotencyKey,
  MonthlyUsage,
  TestUsage,
} from './email.entity';
import { MonthlyLimits, TestLimits } from './accept/commit/usage-limits.service';
import { SendRawService } from './accept/send-raw.service';
import { SendEmailsService } from './accept/send-emails.service';
import { SenderResolver } from './accept/sender-resolver.service';
import { EventPhasesBackfill } from './outcomes/event-phases.backfill';
import { RawMessagesStorage } from './content/raw-messages.storage';
import { BodiesStorage } from './content/bodies.storage';
import { RawMessagesService } from './content/raw-messages.service';
import { EmailContentService } from './email-content.service';
import { EmailChangesService } from './email-changes.service';
import { EmailListService } from './email-list.service';
import { EmailLookupService } from './email-lookup.service';
import { EmailsController } from './emails.controller';
import { EmailListsRepository, EmailsRepository } from './emails.repository';
import { EmailsService } from './emails.service';
import { OutcomeRecorder } from './outcomes/outcome-recorder.service';
import { OutcomesRepository } from './outcomes/outcomes.repository';
import { StatsCheckJob } from './outcomes/stats-check.job';
import { ReplayRepliesService } from './outcomes/replay-replies.service';
import { StatsCheckService } from './outcomes/stats-check.service';
import { OutgoingMessagesService } from './outgoing-messages.service';
import { StatsCheckRun } from './outcomes/stats-check.entity';
import { AttachmentEraser } from './privacy/attachment-eraser.service';
import { EmailEraser } from './privacy/email-eraser.service';
import { ErasableEmailsRepository, SubjectEmailsRepository } from './privacy/subject-emails.repository';
import { SubjectEmailsService } from './privacy/subject-emails.service';
import { SubjectErasureService } from './privacy/subject-erasure.service';
import { RecipientLinksService } from './recipient-links.service';
import { PartitionCreationService, PartitionRemovalService } from './retention/partitions.service';
import { RetentionRepository } from './retention/retention.repository';
import { SendEmailsController } from './send-emails.controller';

const ENTITIES = [
  ...[Email, EmailContent, EmailAttachment, EmailRecipient, EmailEvent],
  ...[IdempotencyKey, MonthlyUsage, TestUsage, StatsCheckRun],
];
const READING = [
  ...[
    EmailsRepository,
    EmailListsRepository,
    EmailsService,
    EmailListService,
    EmailLookupService,
    RecipientLinksService,
  ],
  ...[EmailContentService, BodiesStorage, RawMessagesService, RawMessagesStorage],
];
const ACCEPTING = [
  EmailChangesService,
  ...[SendEmailsService, SendRawService, SenderResolver, AcceptService, AcceptCommit, AcceptTransaction, TestLimits],
  ...[AcceptRepository, MonthlyLimits],
];
const DELIVERING = [
  ...[OutgoingMessagesService, OutcomeRecorder, OutcomesRepository],
  ...[ReplayRepliesService, StatsCheckService],
];
const REMOVING = [
  ...[PartitionCreationService, PartitionRetentionService, PartitionRemovalService, RetentionRepository],
  ...[SubjectEmailsService, SubjectEmailsRepository],
  ...[SubjectErasureService, EmailEraser, AttachmentEraser, ErasableEmailsRepository],
];
const JOBS = [AcceptRetentionJob, ContentRemovalJob, PartitionsJob, StatsCheckJob, EventPhasesBackfill];

/** Emails: accepted, read, delivered and removed. */
@Module({
  imports: [
    TypeOrmModule.forFeature(ENTITIES),
    AuthModule,
    DeliveryQueueModule,
    DomainsModule,
    EventsModule,
    StatsModule,
    SuppressionsModule,
    TemplatesModule,
  ],
  controllers: [SendEmailsController, EmailsController],
  providers: [...READING, ...ACCEPTING, ...DELIVERING, ...REMOVING, ...JOBS],
  exports: [
    ...[
      EmailContentService,
      EmailLookupService,
      EmailsService,
      OutcomeRecorder,
      OutgoingMessagesService,
      SendRawService,
    ],
    ...[RecipientLinksService, ReplayRepliesService, StatsCheckService, SubjectEmailsService, SubjectErasureService],
  ],
})
export class EmailsModule {}
