import { Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../common/tenant';

/** An endpoint that is gone and whose messages are still to be deleted. */
@Entity('webhook_removals')
export class WebhookRemoval {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'endpoint_id' }) endpointId!: string;
}
