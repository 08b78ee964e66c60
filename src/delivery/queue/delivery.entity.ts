import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../common/tenant';
import type { MailCategory } from '../ports/delivery';

/** The open work of one recipient; the row leaves when its delivery has ended. Written in bulk: see `sql/`. */
@Entity('deliveries')
export class Delivery {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'email_id' }) emailId!: string;
  @PrimaryColumn('smallint') position!: number;
  @Column('uuid', { name: 'domain_id' }) domainId!: string;
  @Column('text') recipient!: string;
  /** The recipient's domain. */
  @Column('text') destination!: string;
  @Column('text') category!: MailCategory;
  /** `waiting` until it is due, `ready`, then `claimed` by a session until its lease ends; `held`: an operator has put it aside. */
  @Column('text') state!: 'waiting' | 'ready' | 'claimed' | 'held';
  @Column('timestamptz', { name: 'due_at' }) dueAt!: Date;
  @Column('timestamptz', { name: 'first_due_at' }) firstDueAt!: Date;
  @Column('timestamptz', { name: 'expires_at', nullable: true }) expiresAt!: Date | null;
  @Column('integer') attempt!: number;
  /** Attempts that ended with the worker's death. */
  @Column('integer') crashes!: number;
  /** Fencing token: a result is taken only with the token of the newest claim. */
  @Column('integer', { name: 'claim_token' }) claimToken!: number;
  @Column('uuid', { name: 'session_id', nullable: true }) sessionId!: string | null;
  @Column('timestamptz', { name: 'claimed_at', nullable: true }) claimedAt!: Date | null;
  /** Since when, and why, in the operator's own words; told to its sender when its time ends before it is released. */
  @Column('timestamptz', { name: 'held_at', nullable: true }) heldAt!: Date | null;
  @Column('text', { name: 'held_reason', nullable: true }) heldReason!: string | null;
  /** Trace and span that sent it, 24 bytes; null unless its trace is sampled. */
  @Column('bytea', { name: 'trace_context', nullable: true }) traceContext!: Buffer | null;
}
