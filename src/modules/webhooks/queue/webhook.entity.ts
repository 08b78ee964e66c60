import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../../common/tenant';

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

/** The response of a receiver, as far as it is kept: what helps to find out why it refuses, and no secret. */
export interface WebhookResponse {
  readonly headers: Readonly<Record<string, string>>;
  /** The first part. */
  readonly body: string;
  /** Whether the body was longer. */
  readonly isCut: boolean;
  readonly durationMs: number;
}

/** `pending`: due at `nextAttemptAt`; `sending`: a worker has it until `claimedUntil`; the others are the end. */
export type WebhookMessageState = 'pending' | 'sending' | 'delivered' | 'failed';

/** One event for one endpoint, without the payload: that is made of the event when it is sent. */
@Entity('webhook_messages')
export class WebhookMessage {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'endpoint_id' }) endpointId!: string;
  /** The event's id, and the `webhook-id` that the receiver sees; a test message has one of its own. */
  @PrimaryColumn('uuid') id!: string;
  /** The event; null in a test message. */
  @Column('uuid', { name: 'email_id', nullable: true }) emailId!: string | null;
  @Column('integer', { nullable: true }) sequence!: number | null;
  @Column('text', { name: 'event_type' }) eventType!: string;
  @Column('text') state!: WebhookMessageState;
  @Column('integer', { default: 0 }) attempts!: number;
  @Column('timestamptz', { name: 'next_attempt_at' }) nextAttemptAt!: Date;
  @Column('timestamptz', { name: 'claimed_until', nullable: true }) claimedUntil!: Date | null;
  @Column('timestamptz', { name: 'last_attempt_at', nullable: true }) lastAttemptAt!: Date | null;
  /** HTTP status of the last response. */
  @Column('integer', { name: 'last_status', nullable: true }) lastStatus!: number | null;
  /** What went wrong last, or why it was given up. */
  @Column('text', { name: 'last_error', nullable: true }) lastError!: string | null;
  /** The response to the last attempt; null without one. */
  @Column('jsonb', { name: 'last_answer', nullable: true, select: false }) lastResponse?: WebhookResponse | null;
  @Column('timestamptz', { name: 'delivered_at', nullable: true }) deliveredAt!: Date | null;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
}

/** The events of a span that become messages for an endpoint once more; deleted when done. */
@Entity('webhook_replays')
export class WebhookReplay {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'endpoint_id' }) endpointId!: string;
  /** Events up to this id are done with. */
  @Column('uuid') position!: string;
  /** The first event id that is not part of it. */
  @Column('uuid', { name: 'end_before' }) endBefore!: string;
  @Column('timestamptz', { name: 'updated_at' }) updatedAt!: Date;
}

/** A deleted endpoint whose messages still have to be deleted. */
@Entity('webhook_removals')
export class WebhookRemoval {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'endpoint_id' }) endpointId!: string;
}
