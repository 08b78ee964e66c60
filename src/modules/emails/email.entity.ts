import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../common/tenant';
import type { EmailStatus } from './outcomes/email-state';

/** An accepted email, without its bodies. Rows are written by statements (sql/); this is the reading side. */
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
  /** The email that this one repeats, and those that repeat this one, the newest first. */
  @Column('uuid', { name: 'resent_from', nullable: true }) resentFrom!: string | null;
  @Column('uuid', { name: 'resent_as', array: true, nullable: true }) resentAs!: string[] | null;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
  @Column('timestamptz', { name: 'updated_at' }) updatedAt!: Date;
}
