import { Column, Entity, PrimaryColumn } from 'typeorm';

/** How far an address of a pool is with its warm-up. */
@Entity('egress_addresses')
export class EgressAddressState {
  @PrimaryColumn('text') address!: string;
  /** Days on which it has sent since the warm-up began, today among them. */
  @Column('integer', { name: 'warm_up_day', default: 0 }) warmUpDay!: number;
  /** The last of these. */
  @Column('date', { name: 'warm_up_date', nullable: true }) warmUpDate!: string | null;
  @Column('timestamptz', { name: 'warm_up_ended_at', nullable: true }) warmUpEndedAt!: Date | null;
  @Column('timestamptz', { name: 'warm_up_started_at', default: () => 'now()' }) warmUpStartedAt!: Date;
}

/** What an address that warms up has sent to one provider on one day. Written by statements: see `sql/`. */
@Entity('egress_volumes')
export class EgressVolume {
  @PrimaryColumn('text') address!: string;
  @PrimaryColumn('date') day!: string;
  @PrimaryColumn('text') provider!: string;
  /** Taken by workers, who give back what they do not use. */
  @Column('integer') taken!: number;
}
