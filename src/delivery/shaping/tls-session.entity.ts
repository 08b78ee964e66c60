import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { CountedSession } from './sql/tls-sessions.sql';

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
  /** The policy that they were judged by, one statement a line; empty where there is none. */
  @Column('text', { default: '' }) policy!: string;
  /** A `bigint`, which the driver returns as text. */
  @Column('bigint') sessions!: string;
}
