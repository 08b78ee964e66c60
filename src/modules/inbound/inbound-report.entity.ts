import { Column, Entity, PrimaryColumn, VirtualColumn } from 'typeorm';
import type { Mode } from '../../common/tenant';
import type { PublicMailbox } from './inbound-report';

/** Mail to a mailbox that anyone may write to. Rows are written by statements (sql/); the operator reads them here. */
@Entity('feedback_reports')
export class FeedbackReport {
  /** SHA-256 of the stored bytes: the same message twice is one row. */
  @PrimaryColumn('bytea') digest!: Buffer;
  /** Sorts by arrival. */
  @Column('uuid') id!: string;
  @Column('text') mailbox!: PublicMailbox;
  @Column('timestamptz', { name: 'received_at' }) receivedAt!: Date;
  /** Empty once a report to `fbl` has been processed; read for one message at a time only. */
  @Column('bytea', { select: false }) raw!: Buffer;
  @VirtualColumn('integer', { query: (alias) => `octet_length(${alias}.raw)` }) size!: number;
  @Column('smallint') attempts!: number;
  @Column('timestamptz', { name: 'claimed_until', nullable: true }) claimedUntil!: Date | null;
  @Column('timestamptz', { name: 'processed_at', nullable: true }) processedAt!: Date | null;
  /** What it turned out to be; null until it has been processed. */
  @Column('text', { nullable: true }) disposition!: string | null;
  /** The delivery that it is about, once that is known. */
  @Column('uuid', { name: 'organization_id', nullable: true }) organizationId!: string | null;
  @Column('text', { nullable: true }) mode!: Mode | null;
  @Column('uuid', { name: 'email_id', nullable: true }) emailId!: string | null;
  @Column('smallint', { nullable: true }) position!: number | null;
}

/** A report that came to a return path, on the delivery that the path names. Rows are written by statements (sql/). */
@Entity('inbound_reports')
export class InboundReport {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'email_id' }) emailId!: string;
  @PrimaryColumn('smallint') position!: number;
  /** SHA-256 of the stored bytes: the same message twice is one report. */
  @PrimaryColumn('bytea') digest!: Buffer;
  /** Sorts by arrival. */
  @Column('uuid') id!: string;
  @Column('timestamptz', { name: 'received_at' }) receivedAt!: Date;
  /** Empty once the report has been processed. */
  @Column('bytea', { select: false }) raw!: Buffer;
  @Column('smallint') attempts!: number;
  @Column('timestamptz', { name: 'claimed_until', nullable: true }) claimedUntil!: Date | null;
  @Column('timestamptz', { name: 'processed_at', nullable: true }) processedAt!: Date | null;
  /** What it turned out to be; null until it has been processed. */
  @Column('text', { nullable: true }) disposition!: string | null;
}
