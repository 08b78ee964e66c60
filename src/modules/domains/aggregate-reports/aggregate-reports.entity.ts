import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DmarcPolicy, TlsPolicyType } from './aggregate-report';

/** One source of mail in a domain's name, from a DMARC report. Rows are written by a statement (sql/). */
@Entity('dmarc_sources')
export class DmarcSourceRow {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid', { name: 'domain_id' }) domainId!: string;
  @PrimaryColumn('text') reporter!: string;
  @PrimaryColumn('text', { name: 'report_id' }) reportId!: string;
  @PrimaryColumn('text', { name: 'source_ip' }) sourceIp!: string;
  @PrimaryColumn('boolean') dkim!: boolean;
  @PrimaryColumn('boolean') spf!: boolean;
  @PrimaryColumn('text') disposition!: DmarcPolicy;
  @Column('text') policy!: DmarcPolicy;
  @Column('timestamptz', { name: 'begins_at' }) beginsAt!: Date;
  @Column('timestamptz', { name: 'ends_at' }) endsAt!: Date;
  /** A `bigint`, which the driver returns as text. */
  @Column('bigint') messages!: string;
  @Column('timestamptz', { name: 'received_at', default: () => 'now()' }) receivedAt!: Date;
}

/** One kind of result of connections to a domain's mail exchangers, from a TLS report. Rows are written by a statement (sql/). */
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
