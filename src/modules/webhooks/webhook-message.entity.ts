import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../common/tenant';
import type { WebhookAnswer } from './webhook-answer';

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
  /** What the last attempt was answered; null where nothing was. */
  @Column('jsonb', { name: 'last_answer', nullable: true, select: false }) lastAnswer?: WebhookAnswer | null;
  @Column('timestamptz', { name: 'delivered_at', nullable: true }) deliveredAt!: Date | null;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
}
