import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A message as the built-in mailbox received it. Rows are written by a statement (sql/); this is the reading side. */
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
  /** Read for one message at a time only. */
  @Column('bytea', { select: false }) raw!: Buffer;
}
