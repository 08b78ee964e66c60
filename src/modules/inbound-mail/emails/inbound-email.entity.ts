import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../../common/tenant';
import type { InboundEmailData } from './inbound-email';

/** Mail that came to a route. It is its own event, under the same id. Rows are written by statements (sql/). */
@Entity('inbound_emails')
export class InboundEmail {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid', { name: 'route_id' }) routeId!: string;
  @Column('uuid', { name: 'domain_id' }) domainId!: string;
  @Column('uuid', { name: 'webhook_id', nullable: true }) webhookId!: string | null;
  /** SHA-256 of message, envelope and route: the same twice is stored once. */
  @Column('bytea', { select: false }) digest!: Buffer;
  /** Empty for the null sender. */
  @Column('text', { name: 'envelope_from' }) envelopeFrom!: string;
  /** Recipients of this route alone. */
  @Column('text', { name: 'envelope_to', array: true }) envelopeTo!: string[];
  @Column('text', { name: 'from_address' }) fromAddress!: string;
  /** Of envelope and header, in lower case. */
  @Column('text', { array: true, select: false }) addresses!: string[];
  @Column('jsonb') data!: InboundEmailData;
  @Column('integer', { name: 'size_bytes' }) sizeBytes!: number;
  @Column('timestamptz', { name: 'received_at' }) receivedAt!: Date;
}

/** What an organization keeps. */
@Entity('inbound_usage')
export class InboundUsage {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @Column('bigint') emails!: string;
  @Column('bigint') bytes!: string;
}

/** A part of the message as it came; all but the last are of 1 MiB. */
@Entity('inbound_email_parts')
export class InboundEmailPart {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'email_id' }) emailId!: string;
  @PrimaryColumn('integer') position!: number;
  @Column('bytea') content!: Buffer;
}
