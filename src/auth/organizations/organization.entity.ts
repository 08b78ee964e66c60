import { Column, Entity, PrimaryColumn } from 'typeorm';

export type OrganizationStatus = 'active' | 'suspended';

/** A tenant: all other data belongs to one. */
@Entity('organizations')
export class Organization {
  @PrimaryColumn('uuid') id!: string;
  @Column({
    type: 'integer',
    generated: 'identity',
    generatedIdentity: 'ALWAYS',
    unique: true,
    insert: false,
    update: false,
  })
  ordinal!: number;
  @Column('text') name!: string;
  @Column('text', { default: 'active' }) status!: OrganizationStatus;
  @Column('boolean', { name: 'track_opens', default: false }) trackOpens!: boolean;
  @Column('boolean', { name: 'track_clicks', default: false }) trackClicks!: boolean;
  /** Its share of the deliveries relative to other organizations: 1 to 100. */
  @Column('integer', { default: 1 }) weight!: number;
  /** How many recipients its live mail may have in a month (UTC); null: unlimited. */
  @Column('integer', { name: 'monthly_recipients', nullable: true }) monthlyRecipients!: number | null;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  @Column('timestamptz', { name: 'updated_at', default: () => 'now()' }) updatedAt!: Date;
}
