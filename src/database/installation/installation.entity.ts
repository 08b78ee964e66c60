import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Which process runs a background job that must not run twice at a time. */
@Entity('job_leases')
export class JobLease {
  @PrimaryColumn('text') job!: string;
  @Column('uuid') holder!: string;
  @Column('timestamptz', { name: 'held_until' }) heldUntil!: Date;
}

/** How far a backfill has come. */
@Entity('backfill_runs')
export class BackfillRun {
  @PrimaryColumn('text') name!: string;
  /** In the words of the backfill; empty at the beginning. */
  @Column('text') position!: string;
  /** Estimated at the beginning. */
  @Column('bigint') total!: string;
  @Column('bigint') examined!: string;
  @Column('bigint') changed!: string;
  @Column('timestamptz', { name: 'started_at' }) startedAt!: Date;
  @Column('timestamptz', { name: 'updated_at' }) updatedAt!: Date;
  @Column('timestamptz', { name: 'finished_at', nullable: true }) finishedAt!: Date | null;
}

/** The one row about the master key that the processes use. */
@Entity('master_key_record')
export class MasterKeyInUse {
  @PrimaryColumn('smallint') id!: number;
  @Column('bigint', { name: 'key_id' }) keyId!: string;
  @Column('timestamptz', { name: 'recorded_at' }) recordedAt!: Date;
}
