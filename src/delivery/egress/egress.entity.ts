import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ListingState } from './sql/egress-addresses.sql';

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

/** A receiver refuses one of our addresses for its reputation. Written by the worker that was refused. */
@Entity('egress_suspensions')
export class EgressSuspension {
  @PrimaryColumn('text') address!: string;
  /** The group of destinations. */
  @PrimaryColumn('text') key!: string;
  @Column('text') cause!: string;
  @Column('timestamptz') until!: Date;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
}

/** The last result of a block list for one of the installation's addresses. Rows are written by a statement (sql/). */
@Entity('block_list_checks')
export class BlockListCheck {
  @PrimaryColumn('text') address!: string;
  @PrimaryColumn('text') list!: string;
  @Column('text') state!: ListingState;
  @Column('text') reply!: string;
  /** Since when it has been in this state. */
  @Column('timestamptz', { default: () => 'now()' }) since!: Date;
  @Column('timestamptz', { name: 'checked_at', default: () => 'now()' }) checkedAt!: Date;
}
