import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mailbox } from '../../common/mail-address';
import type { Mode } from '../../common/tenant';

/** The mailboxes that the headers show. */
export interface Addressees {
  to: Mailbox[];
  cc: Mailbox[];
  replyTo: Mailbox[];
}

/** An email's bodies and headers, apart from the rows that lists read, with a shorter retention of their own. */
@Entity('email_contents')
export class EmailContent {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'email_id' }) emailId!: string;
  @Column('text', { nullable: true }) html!: string | null;
  @Column('text', { nullable: true }) text!: string | null;
  @Column('jsonb', { nullable: true }) headers!: Record<string, string> | null;
  @Column('jsonb') addressees!: Addressees;
  /** Rows in email_attachments. */
  @Column('smallint', { name: 'attachment_count', default: 0 }) attachmentCount!: number;
  /** It came as a whole message, whose bytes are those rows together. */
  @Column('boolean', { name: 'is_raw', default: false }) isRaw!: boolean;
  /** Blanks that make the row long enough to be compressed; nothing reads them. */
  @Column({ type: 'text', nullable: true, select: false, insert: false, update: false }) padding!: string | null;
}
