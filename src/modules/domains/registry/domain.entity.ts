import { Column, Entity, PrimaryColumn } from 'typeorm';

export type VerificationStatus = 'pending' | 'verified' | 'failed';
export type DkimStatus = 'pending' | 'verified' | 'failed';
export type WarmingStatus = 'not_started' | 'warming' | 'warmed' | 'paused';
export type PauseReason = 'bounces' | 'complaints';
export type SendingStatus = 'active' | 'slowed' | 'paused';

/** Whether a domain is restricted; `restrictions/evaluate-restriction.ts` decides when that changes. */
export class SendingState {
  @Column('text', { name: 'sending_status', default: 'active' }) status!: SendingStatus;
  @Column('text', { name: 'sending_status_reason', nullable: true }) reason!: PauseReason | 'operator' | null;
  /** The operator's note. */
  @Column('text', { name: 'sending_status_note', nullable: true }) note!: string | null;
  @Column('timestamptz', { name: 'sending_status_since', nullable: true }) since!: Date | null;
  /** Time of the last resumption: earlier results no longer count. */
  @Column('timestamptz', { name: 'sending_judged_since', nullable: true }) evaluatedSince!: Date | null;
  /** For a slowed domain: since when it has been below the limits without interruption. */
  @Column('timestamptz', { name: 'sending_below_since', nullable: true }) belowSince!: Date | null;
  /** Recipients per UTC day while the domain is slowed. */
  @Column('integer', { name: 'sending_daily_limit', nullable: true }) dailyLimit!: number | null;
}

/** The state of a domain that has never been restricted. */
export const SENDING_FREELY: Readonly<SendingState> = {
  ...{
    status: 'active',
    reason: null,
    note: null,
    since: null,
    evaluatedSince: null,
    belowSince: null,
    dailyLimit: null,
  },
};

/** A sender domain of an organization. */
@Entity('domains')
export class Domain {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('text') domain!: string;
  /** The labels before the registrable domain. */
  @Column('text', { nullable: true }) subdomain!: string | null;
  @Column('text', { name: 'verification_status', default: 'pending' }) verificationStatus!: VerificationStatus;
  @Column('text', { name: 'verification_token' }) verificationToken!: string;
  @Column('timestamptz', { name: 'verified_at', nullable: true }) verifiedAt!: Date | null;
  /** Selector of the newest key, active or pending. */
  @Column('text', { name: 'dkim_selector', nullable: true }) dkimSelector!: string | null;
  @Column('text', { name: 'dkim_status', nullable: true }) dkimStatus!: DkimStatus | null;
  @Column('text', { name: 'warming_status', default: 'not_started' }) warmingStatus!: WarmingStatus;
  /** The first live send; its UTC day is day 1. */
  @Column('timestamptz', { name: 'warming_started_at', nullable: true }) warmingStartedAt!: Date | null;
  @Column('timestamptz', { name: 'warming_paused_at', nullable: true }) warmingPausedAt!: Date | null;
  @Column('text', { name: 'warming_pause_reason', nullable: true }) warmingPauseReason!: PauseReason | null;
  /** Time of the last resumption: earlier results no longer count. */
  @Column('timestamptz', { name: 'warming_judged_since', nullable: true }) warmingEvaluatedSince!: Date | null;
  @Column(() => SendingState, { prefix: false }) sending!: SendingState;
  @Column('boolean', { name: 'is_default', default: false }) isDefault!: boolean;
  /** When the records are checked next; the worker that starts a check moves it ahead as its lease. */
  @Column('timestamptz', { name: 'next_check_at', default: () => 'now()' }) nextCheckAt!: Date;
  @Column('timestamptz', { name: 'last_checked_at', nullable: true }) lastCheckedAt!: Date | null;
  /** Since when the ownership record has been missing without interruption. */
  @Column('timestamptz', { name: 'verification_failing_since', nullable: true })
  verificationFailingSince!: Date | null;
  @Column('timestamptz', { name: 'dkim_failing_since', nullable: true }) dkimFailingSince!: Date | null;
  @Column('boolean', { name: 'return_path_verified', default: false }) returnPathVerified!: boolean;
  @Column('boolean', { name: 'tracking_verified', default: false }) trackingVerified!: boolean;
  /** Whether mail from the domain is sent over encrypted connections only. */
  @Column('boolean', { name: 'require_tls', default: false }) requiresTls!: boolean;
  /** 0 to 100; null until it has been computed. */
  @Column('smallint', { name: 'reputation_score', nullable: true }) reputationScore!: number | null;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  @Column('timestamptz', { name: 'updated_at', default: () => 'now()' }) updatedAt!: Date;
}

/**
 * A removed domain that may have sent live mail, since it was verified once. When it is added again, it gets its id, warm-up and
 * sending status back: otherwise removing and adding would bypass every limit and pause, and its statistics could no longer be
 * read by domain.
 */
@Entity('removed_domains')
export class RemovedDomain {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') domain!: string;
  @Column('uuid') id!: string;
  @Column('text', { name: 'warming_status' }) warmingStatus!: WarmingStatus;
  @Column('timestamptz', { name: 'warming_started_at', nullable: true }) warmingStartedAt!: Date | null;
  @Column('timestamptz', { name: 'warming_paused_at', nullable: true }) warmingPausedAt!: Date | null;
  @Column('text', { name: 'warming_pause_reason', nullable: true }) warmingPauseReason!: PauseReason | null;
  @Column('timestamptz', { name: 'warming_judged_since', nullable: true }) warmingEvaluatedSince!: Date | null;
  @Column(() => SendingState, { prefix: false }) sending!: SendingState;
  @Column('timestamptz', { name: 'removed_at' }) removedAt!: Date;
}

/** The data that is kept of a removed domain. */
export function removedDomain(domain: Domain, removedAt: Date): RemovedDomain {
  const { organizationId, id, domain: name } = domain;
  return { organizationId, domain: name, id, ...standingOf(domain), removedAt };
}

/** The warm-up and sending state of a domain, which survives its removal. */
export function standingOf(domain: Domain | RemovedDomain) {
  const { warmingStatus, warmingStartedAt, warmingPausedAt, warmingPauseReason, warmingEvaluatedSince, sending } =
    domain;
  return { warmingStatus, warmingStartedAt, warmingPausedAt, warmingPauseReason, warmingEvaluatedSince, sending };
}

/** Recipients that a limited domain has used on a day, including those being accepted now. */
@Entity('warm_up_usage')
export class WarmUpUsage {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid', { name: 'domain_id' }) domainId!: string;
  /** A UTC date, for example `2026-01-05`. */
  @PrimaryColumn('date') day!: string;
  @Column('integer') recipients!: number;
  /** The limit of the last reservation, and the granted recipients. */
  @Column('integer', { name: 'daily_limit' }) dailyLimit!: number;
  @Column('integer', { name: 'last_grant' }) lastGrant!: number;
}
