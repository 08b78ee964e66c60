import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A message as the built-in mailbox received it. Rows are inserted by a statement (sql/) and read by this entity. */
@Entity('mailbox_messages')
export class MailboxMessage {
  @PrimaryColumn('uuid') id!: string;
  @Column('timestamptz', { name: 'received_at' }) receivedAt!: Date;
  @Column('text', { name: 'return_path' }) returnPath!: string;
  @Column('text', { array: true }) recipients!: string[];
  /** The From field, decoded; empty when there is none. */
  @Column('text') sender!: string;
  @Column('text') subject!: string;
  /** Bytes of `raw`. */
  @Column('integer') size!: number;
  /** The mail's organization, by its return path; null for other return paths. */
  @Column('uuid', { name: 'organization_id', nullable: true, select: false }) organizationId!: string | null;
  /** Read for one message at a time only. */
  @Column('bytea', { select: false }) raw!: Buffer;
}

/** What the listener has received: the envelope and the message's bytes. */
export interface ReceivedMessage {
  /** Empty for the null sender. */
  readonly returnPath: string;
  readonly recipients: readonly string[];
  readonly raw: Buffer;
}

/** A row of the mailbox: the message with the fields that lists show. */
export interface NewMailboxMessage extends ReceivedMessage {
  readonly id: string;
  readonly receivedAt: Date;
  readonly organizationId: string | null;
  readonly sender: string;
  readonly subject: string;
}
