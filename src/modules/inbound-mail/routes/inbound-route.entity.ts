import { Column, Entity, PrimaryColumn } from 'typeorm';

/** An address, or all addresses of a host, whose mail is taken. */
@Entity('inbound_routes')
export class InboundRoute {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid') id!: string;
  /** Lower case: `local@domain`, or `*@domain`. */
  @Column('text') address!: string;
  /** Only it receives the event; without one, every webhook that is subscribed. */
  @Column('uuid', { name: 'webhook_id', nullable: true }) webhookId!: string | null;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
  @Column('timestamptz', { name: 'updated_at' }) updatedAt!: Date;
}
