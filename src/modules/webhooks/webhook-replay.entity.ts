import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../common/tenant';

/** The events of a span that become messages for an endpoint once more; gone when it is done. */
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
