import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ListingState } from './sql/egress-addresses.sql';
import type { CountedSession, StoredPolicy } from './sql/tls.sql';

/** A worker's findings about a group of destinations. Written in bulk: see `sql/`. */
@Entity('destination_reports')
export class DestinationReport {
  /** The first mail exchanger by preference and name. */
  @PrimaryColumn('text') key!: string;
  @PrimaryColumn('uuid', { name: 'session_id' }) sessionId!: string;
  @Column('integer') active!: number;
  @Column('integer') concurrency!: number;
  @Column('integer') pauses!: number;
  @Column('timestamptz', { name: 'paused_until', nullable: true }) pausedUntil!: Date | null;
  @Column('text', { nullable: true }) cause!: string | null;
  @Column('timestamptz', { name: 'changed_at', nullable: true }) changedAt!: Date | null;
  @Column('text', { name: 'last_response', nullable: true }) lastResponse!: string | null;
  @Column('text', { name: 'mx_hosts', array: true }) mxHosts!: string[];
  @Column('text', { array: true }) domains!: string[];
  @Column('integer') delivered!: number;
  @Column('integer') deferred!: number;
  @Column('integer') bounced!: number;
  @Column('timestamptz', { name: 'reported_at', default: () => 'now()' }) reportedAt!: Date;
}

export type RuleSource = 'reply' | 'operator';

/** `resumed`: not a limit, but a signal to workers to drop a pause of their own. */
export type RuleEffect = 'paused' | 'resumed' | 'max_connections' | 'rate_per_minute';

/** What holds for a group until it ends or is removed; one for each source and effect. */
@Entity('destination_rules')
export class DestinationRule {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') key!: string;
  @Column('text') source!: RuleSource;
  @Column('text') effect!: RuleEffect;
  @Column('integer', { nullable: true }) value!: number | null;
  @Column('text') cause!: string;
  @Column('timestamptz', { nullable: true }) until!: Date | null;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
}

/** How far an address of a pool is with its warm-up. */
@Entity('egress_addresses')
export class EgressAddressState {
  @PrimaryColumn('text') address!: string;
  /** Days on which it has sent since the warm-up began, today among them. */
  @Column('integer', { name: 'warm_up_day', default: 0 }) warmUpDay!: number;
  /** The last of these. */
  @Column('date', { name: 'warm_up_date', nullable: true }) warmUpDate!: string | null;
  @Column('timestamptz', { name: 'warm_up_ended_at', nullable: true }) warmUpEndedAt!: Date | null;
  @Column('timestamptz', { name: 'warm_up_started_at', default: () => 'now()' }) warmUpStartedAt!: Date;
}

/** What an address that warms up has sent to one provider on one day. Written by statements: see `sql/`. */
@Entity('egress_volumes')
export class EgressVolume {
  @PrimaryColumn('text') address!: string;
  @PrimaryColumn('date') day!: string;
  @PrimaryColumn('text') provider!: string;
  /** Taken by workers, who give back what they do not use. */
  @Column('integer') taken!: number;
}

/** A receiver refuses one of our addresses for its reputation. Written by the worker that was refused. */
@Entity('egress_suspensions')
export class EgressSuspension {
  @PrimaryColumn('text') address!: string;
  /** The group of destinations. */
  @PrimaryColumn('text') key!: string;
  @Column('text') cause!: string;
  @Column('timestamptz') until!: Date;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
}

/** The last result of a block list for one of the installation's addresses. Rows are written by a statement (sql/). */
@Entity('block_list_checks')
export class BlockListCheck {
  @PrimaryColumn('text') address!: string;
  @PrimaryColumn('text') list!: string;
  @Column('text') state!: ListingState;
  @Column('text') reply!: string;
  /** Since when it has been in this state. */
  @Column('timestamptz', { default: () => 'now()' }) since!: Date;
  @Column('timestamptz', { name: 'checked_at', default: () => 'now()' }) checkedAt!: Date;
}

/** The policy of a receiving domain that announces one. Written by the worker that fetches it. */
@Entity('mta_sts_policies')
export class MtaStsPolicyRow {
  @PrimaryColumn('text') domain!: string;
  /** Of the policy that is kept; null, with `mode`, while none has been fetched. */
  @Column('text', { name: 'policy_id', nullable: true }) policyId!: string | null;
  @Column('text', { nullable: true }) mode!: StoredPolicy['mode'] | null;
  @Column('text', { array: true, default: () => "'{}'" }) mx!: string[];
  /** Seconds, from the policy; null if stored by older code. */
  @Column('integer', { name: 'max_age', nullable: true }) maxAge!: number | null;
  @Column('timestamptz', { name: 'expires_at', nullable: true }) expiresAt!: Date | null;
  @Column('timestamptz', { name: 'refresh_at', nullable: true }) refreshAt!: Date | null;
  @Column('timestamptz', { name: 'used_at', default: () => 'now()' }) usedAt!: Date;
  /** Which policy the last fetch was for. */
  @Column('text', { name: 'tried_id', nullable: true }) triedId!: string | null;
  /** While a worker is fetching it. */
  @Column('timestamptz', { name: 'fetching_until', nullable: true }) fetchingUntil!: Date | null;
  /** After a failure: not again before that. */
  @Column('timestamptz', { name: 'retry_at', nullable: true }) retryAt!: Date | null;
  @Column('text', { nullable: true }) failure!: string | null;
  @Column('text', { name: 'failure_type', nullable: true }) failureType!: string | null;
}

/** Connections of one day to a domain that asks for reports, of one kind. Rows are written by a statement (sql/). */
@Entity('tls_sessions')
export class TlsSessionRow {
  @PrimaryColumn('date') day!: string;
  @PrimaryColumn('text') domain!: string;
  @PrimaryColumn('text', { name: 'policy_type' }) policyType!: CountedSession['policyType'];
  @PrimaryColumn('text') result!: string;
  @PrimaryColumn('text', { name: 'mx_host' }) mxHost!: string;
  @PrimaryColumn('text', { name: 'sending_ip' }) sendingIp!: string;
  @PrimaryColumn('text', { name: 'receiving_ip' }) receivingIp!: string;
  /** The policy that they were checked against, one statement a line; empty where there is none. */
  @Column('text', { default: '' }) policy!: string;
  /** A `bigint`, which the driver returns as text. */
  @Column('bigint') sessions!: string;
}
