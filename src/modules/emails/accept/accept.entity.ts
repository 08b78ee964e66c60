import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../../common/tenant';

/** The response to a request, to be returned again under the same key. Rows are read and written by statements (sql/). */
@Entity('idempotency_keys')
export class IdempotencyKey {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('text') path!: string;
  @PrimaryColumn('text') key!: string;
  /** SHA-256 of the canonical JSON of the body. */
  @Column('bytea') fingerprint!: Buffer;
  /** One result, or a batch's list of them. */
  @Column('jsonb') response!: unknown;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
}

/** Recipients of test mail from a domain on a day, or in all. Rows are read and written by statements (sql/). */
@Entity('test_usage')
export class TestUsage {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid', { name: 'domain_id' }) domainId!: string;
  /** A UTC date; the epoch stands for all days together. */
  @PrimaryColumn('date') day!: string;
  @Column('integer') recipients!: number;
}

/** Recipients of the live mail of a limited organization in a month. Rows are read and written by statements (sql/). */
@Entity('monthly_usage')
export class MonthlyUsage {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  /** The month's first day, UTC. */
  @PrimaryColumn('date') month!: string;
  /** `bigint`, which the driver returns as text. */
  @Column('bigint') recipients!: string;
  @Column('timestamptz', { name: 'counted_at' }) countedAt!: Date;
}
