import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A receiver refuses one of our addresses for its reputation. Written by the worker that has met it. */
@Entity('egress_suspensions')
export class EgressSuspension {
  @PrimaryColumn('text') address!: string;
  /** The group of destinations. */
  @PrimaryColumn('text') key!: string;
  @Column('text') cause!: string;
  @Column('timestamptz') until!: Date;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
}
