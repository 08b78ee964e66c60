import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { CountedSession, StoredPolicy } from './sql/tls.sql';

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
