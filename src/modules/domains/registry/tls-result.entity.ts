import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { TlsPolicyType } from './tls-report';

/** What a report says of one kind of connections to a domain's mail exchangers. Rows are written by a statement (sql/). */
@Entity('tls_results')
export class TlsResultRow {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid', { name: 'domain_id' }) domainId!: string;
  @PrimaryColumn('text') reporter!: string;
  @PrimaryColumn('text', { name: 'report_id' }) reportId!: string;
  @PrimaryColumn('text', { name: 'policy_type' }) policyType!: TlsPolicyType;
  @PrimaryColumn('text') result!: string;
  @PrimaryColumn('text', { name: 'mx_host' }) mxHost!: string;
  /** A `bigint`, which the driver returns as text. */
  @Column('bigint') sessions!: string;
  @Column('timestamptz', { name: 'begins_at' }) beginsAt!: Date;
  @Column('timestamptz', { name: 'ends_at' }) endsAt!: Date;
  @Column('timestamptz', { name: 'received_at', default: () => 'now()' }) receivedAt!: Date;
}
