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
  /** Attempts that were refused for good before RCPT. */
  @Column('smallint', { default: 0 }) refusals!: number;
  /** Fencing token: a result is taken only with the token of the newest claim. */
  @Column('integer', { name: 'claim_token' }) claimToken!: number;
  @Column('uuid', { name: 'session_id', nullable: true }) sessionId!: string | null;
  @Column('timestamptz', { name: 'claimed_at', nullable: true }) claimedAt!: Date | null;
  /** Since when, and why, in the operator's own words; shown to its sender when its time ends before it is released. */
  @Column('timestamptz', { name: 'held_at', nullable: true }) heldAt!: Date | null;
  @Column('text', { name: 'held_reason', nullable: true }) heldReason!: string | null;
  /** Trace and span that sent it, 24 bytes; null unless its trace is sampled. */
  @Column('bytea', { name: 'trace_context', nullable: true }) traceContext!: Buffer | null;
}

const QUEUE_ACTIONS = ['retry_now', 'hold', 'release', 'fail'] as const;

export type QueueActionKind = (typeof QUEUE_ACTIONS)[number];

/** Something that an operator does with open deliveries; worked off in batches by `sql/queue-actions.sql.ts`. */
@Entity('queue_actions')
export class QueueAction {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') action!: QueueActionKind;
  @Column('uuid', { name: 'filter_organization_id', nullable: true }) organizationId!: string | null;
  @Column('text', { name: 'filter_destination', nullable: true }) destination!: string | null;
  @Column('uuid', { name: 'filter_email_id', nullable: true }) emailId!: string | null;
  /** Removed once it is completed. */
  @Column('text', { name: 'filter_recipient', nullable: true }) recipient!: string | null;
  /** The operator's own words. */
  @Column('text') reason!: string;
  @Column('text') actor!: string;
  @Column('text') status!: 'running' | 'completed';
  @Column('uuid', { name: 'at_organization_id' }) atOrganizationId!: string;
  @Column('text', { name: 'at_mode' }) atMode!: Mode | '';
  @Column('uuid', { name: 'at_email_id' }) atEmailId!: string;
  @Column('smallint', { name: 'at_position' }) atPosition!: number;
  /** Deliveries that it is for, as far as it has come. */
  @Column('integer', { default: 0 }) matched!: number;
  @Column('integer', { default: 0 }) changed!: number;
  /** Skipped because a worker had them. */
  @Column('integer', { default: 0 }) claimed!: number;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
  @Column('timestamptz', { name: 'completed_at', nullable: true }) completedAt!: Date | null;
}

/** A worker process that may hold claims until its lease ends. */
@Entity('worker_sessions')
export class WorkerSessionRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') host!: string;
  @Column('integer', { name: 'process_id' }) processId!: number;
  @Column('timestamptz', { name: 'started_at' }) startedAt!: Date;
  @Column('timestamptz', { name: 'lease_until' }) leaseUntil!: Date;
  /** The release that it runs. */
  @Column('text', { nullable: true }) version!: string | null;
  @Column('timestamptz', { name: 'renewed_at', default: () => 'now()' }) renewedAt!: Date;
  /** Since when the database has replied to workers without a gap of half a lease. */
  @Column('timestamptz', { name: 'watched_since', default: () => 'now()' }) watchedSince!: Date;
  /** The running workers that it has made room for; null: its release does not say. */
  @Column('uuid', { array: true, nullable: true }) peers!: string[] | null;
}

/** The last count of the queue, shared by all processes: one row. Written by `sql/view-queue.sql.ts`. */
@Entity('queue_measures')
export class QueueMeasureRow {
  @PrimaryColumn('smallint') id!: 1;
  @Column('integer') ready!: number;
  @Column('integer') waiting!: number;
  @Column('integer') claimed!: number;
  @Column('integer', { default: 0 }) held!: number;
  @Column('integer', { name: 'held_back', default: 0 }) heldBack!: number;
  @Column('timestamptz', { name: 'oldest_ready_at', nullable: true }) oldestReadyAt!: Date | null;
  @Column('timestamptz', { name: 'measured_at' }) measuredAt!: Date;
  /** Open deliveries by organization, of those that have as many as they may, or more. */
  @Column('jsonb', { default: {} }) crowding!: Record<string, number>;
  @Column('interval') took!: unknown;
  @Column('timestamptz', { name: 'begun_at' }) begunAt!: Date;
}
