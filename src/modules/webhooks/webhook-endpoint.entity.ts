import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../common/tenant';

/** Why an endpoint is not sent to: the customer's request, a response 410, or five days of nothing but failures. */
export type DisabledReason = 'request' | 'gone' | 'failing';

/** Where an organization receives its events. */
@Entity('webhook_endpoints')
export class WebhookEndpoint {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid') id!: string;
  /** Set when a key created it that is bound to a domain: it receives that domain's events only. */
  @Column('uuid', { name: 'domain_id', nullable: true }) domainId!: string | null;
  @Column('text') url!: string;
  /** Event types, or `*`. */
  @Column('text', { array: true }) events!: string[];
  @Column('text', { nullable: true }) description!: string | null;
  @Column('boolean') enabled!: boolean;
  @Column('text', { name: 'disabled_reason', nullable: true }) disabledReason!: DisabledReason | null;
  @Column('timestamptz', { name: 'disabled_at', nullable: true }) disabledAt!: Date | null;
  /** Encrypted. */
  @Column('bytea') secret!: Buffer;
  @Column('bytea', { name: 'previous_secret', nullable: true }) previousSecret!: Buffer | null;
  @Column('timestamptz', { name: 'previous_secret_until', nullable: true }) previousSecretUntil!: Date | null;
  /** Events up to this id of the event feed have become messages. */
  @Column('uuid') position!: string;
  /** Since when every attempt has failed. */
  @Column('timestamptz', { name: 'failing_since', nullable: true }) failingSince!: Date | null;
  @Column('timestamptz', { name: 'last_success_at', nullable: true }) lastSuccessAt!: Date | null;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
  @Column('timestamptz', { name: 'updated_at' }) updatedAt!: Date;
}
