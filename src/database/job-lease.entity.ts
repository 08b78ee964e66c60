import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Which process runs a background job that must not run twice at a time. */
@Entity('job_leases')
export class JobLease {
  @PrimaryColumn('text') job!: string;
  @Column('uuid') holder!: string;
  @Column('timestamptz', { name: 'held_until' }) heldUntil!: Date;
}
