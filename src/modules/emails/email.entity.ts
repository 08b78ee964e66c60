import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { EventType } from '../../common/event-types';
import type { Mailbox } from '../../common/mail-address';
import type { Mode } from '../../common/tenant';
import type { OutcomeSource } from '../../delivery/ports/outcome';
import type { RecipientKind } from './accept/request/send-request';
import type { EmailStatus } from './outcomes/email-state';
import type { StoredTrace } from './outcomes/stored-trace';

/** An accepted email, without its bodies. Rows are written by statements (sql/) and read by this entity. */
@Entity('emails')
export class Email {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid', { name: 'domain_id' }) domainId!: string;
  @Column('text') status!: EmailStatus;
  @Column('text', { name: 'from_email' }) fromEmail!: string;
  @Column('text', { name: 'from_name', nullable: true }) fromName!: string | null;
  @Column('text', { name: 'reply_to', array: true, nullable: true }) replyTo!: string[] | null;
  @Column('text') subject!: string;
  @Column('text', { name: 'to_emails', array: true }) toEmails!: string[];
  @Column('text', { name: 'cc_emails', array: true, nullable: true }) ccEmails!: string[] | null;
  @Column('text', { name: 'bcc_emails', array: true, nullable: true }) bccEmails!: string[] | null;
  @Column('text', { array: true, nullable: true }) tags!: string[] | null;
  @Column('jsonb', { nullable: true }) metadata!: Record<string, unknown> | null;
  @Column('text') category!: 'transactional' | 'bulk';
  @Column('boolean', { name: 'track_opens' }) trackOpens!: boolean;
  @Column('boolean', { name: 'track_clicks' }) trackClicks!: boolean;
  @Column('integer', { name: 'event_sequence' }) eventSequence!: number;
  @Column('integer', { name: 'open_count', default: 0 }) openCount!: number;
  @Column('integer', { name: 'click_count', default: 0 }) clickCount!: number;
  @Column('timestamptz', { name: 'scheduled_for', nullable: true }) scheduledFor!: Date | null;
  @Column('timestamptz', { name: 'expires_at', nullable: true }) expiresAt!: Date | null;
  @Column('timestamptz', { name: 'sent_at', nullable: true }) sentAt!: Date | null;
  @Column('timestamptz', { name: 'delivered_at', nullable: true }) deliveredAt!: Date | null;
  @Column('timestamptz', { name: 'bounced_at', nullable: true }) bouncedAt!: Date | null;
  @Column('timestamptz', { name: 'failed_at', nullable: true }) failedAt!: Date | null;
  /** The email that this one was resent from; `resentAs`: those resent from this one, the newest first. */
  @Column('uuid', { name: 'resent_from', nullable: true }) resentFrom!: string | null;
  @Column('uuid', { name: 'resent_as', array: true, nullable: true }) resentAs!: string[] | null;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
  @Column('timestamptz', { name: 'updated_at' }) updatedAt!: Date;
}

/** One recipient of an email, with the result of the delivery. */
@Entity('email_recipients')
export class EmailRecipient {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'email_id' }) emailId!: string;
  @PrimaryColumn('smallint') position!: number;
  @Column('text') kind!: RecipientKind;
  @Column('text') address!: string;
  @Column('text') status!: EmailStatus;
  @Column('integer', { default: 0 }) seen!: number;
  @Column('integer', { default: 0 }) attempts!: number;
  @Column('text', { name: 'last_response', nullable: true }) lastResponse!: string | null;
  @Column('timestamptz', { name: 'updated_at' }) updatedAt!: Date;
}

/** Something that happened to an email; append-only. A row may record several events: read it by `expandEvents`. */
@Entity('email_events')
export class EmailEvent {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'email_id' }) emailId!: string;
  @PrimaryColumn('integer') sequence!: number;
  @Column('uuid') id!: string;
  @Column('text', { name: 'event_type' }) eventType!: EventType;
  @Column('text') source!: OutcomeSource;
  @Column('timestamptz', { name: 'occurred_at' }) occurredAt!: Date;
  @Column('jsonb') data!: Record<string, unknown>;
  /** The trace of an attempt that did not succeed, and of any in events from before 0094; read by `traceOf`. */
  @Column('jsonb', { nullable: true }) trace!: StoredTrace | null;
  /** The trace of an attempt that succeeded, as `packTrace` makes it; null for other events. */
  @Column('text', { nullable: true }) attempt!: string | null;
  /** Which events right before this one the row records too (`CompactEvent`). */
  @Column('integer', { name: 'sending_ms', nullable: true }) sendingMs!: number | null;
  @Column('boolean', { name: 'also_sent', nullable: true }) alsoSent!: boolean | null;
}

/** The mailboxes in the header fields To, Cc and Reply-To. */
export interface Addressees {
  to: Mailbox[];
  cc: Mailbox[];
  replyTo: Mailbox[];
}

/** An email's bodies and headers, separate from the rows that lists read, with a shorter retention period. */
@Entity('email_contents')
export class EmailContent {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'email_id' }) emailId!: string;
  @Column('text', { nullable: true }) html!: string | null;
  @Column('text', { nullable: true }) text!: string | null;
  @Column('jsonb', { nullable: true }) headers!: Record<string, string> | null;
  @Column('jsonb') addressees!: Addressees;
  /** Number of rows in email_attachments. */
  @Column('smallint', { name: 'attachment_count', default: 0 }) attachmentCount!: number;
  /** The email was submitted as a raw message, whose bytes are those rows in order. */
  @Column('boolean', { name: 'is_raw', default: false }) isRaw!: boolean;
  /** Padding that makes the row long enough for compression; never read. */
  @Column({ type: 'text', nullable: true, select: false, insert: false, update: false }) padding!: string | null;
}

/** An attachment of an email; for a raw message (`email_contents.is_raw`) a part of its bytes. */
@Entity('email_attachments')
export class EmailAttachment {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'email_id' }) emailId!: string;
  @PrimaryColumn('smallint') position!: number;
  @Column('text') filename!: string;
  @Column('text', { name: 'content_type' }) contentType!: string;
  @Column('text', { name: 'content_id', nullable: true }) contentId!: string | null;
  @Column('integer') size!: number;
  @Column('bytea', { select: false }) content!: Buffer;
}

/** A stored response, which a request with the same key gets again. Rows are read and written by statements (sql/). */
@Entity('idempotency_keys')
export class IdempotencyKey {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('text') path!: string;
  @PrimaryColumn('text') key!: string;
  /** SHA-256 of the canonical JSON of the body. */
  @Column('bytea') fingerprint!: Buffer;
  /** One result, or a batch's list of them. */
  @Column('jsonb') response!: unknown;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
}

/** Recipients of test mail from a domain on a day, or in total. Rows are read and written by statements (sql/). */
@Entity('test_usage')
export class TestUsage {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid', { name: 'domain_id' }) domainId!: string;
  /** A UTC date; the epoch is the row of the total. */
  @PrimaryColumn('date') day!: string;
  @Column('integer') recipients!: number;
}

/** Recipients of the live mail of a limited organization in a month. Rows are read and written by statements (sql/). */
@Entity('monthly_usage')
export class MonthlyUsage {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  /** The month's first day, UTC. */
  @PrimaryColumn('date') month!: string;
  /** `bigint`, which the driver returns as text. */
  @Column('bigint') recipients!: string;
  @Column('timestamptz', { name: 'counted_at' }) countedAt!: Date;
}
