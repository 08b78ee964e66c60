import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A worker process that may hold claims until its lease ends. */
@Entity('worker_sessions')
export class WorkerSessionRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') host!: string;
  @Column('integer', { name: 'process_id' }) processId!: number;
  @Column('timestamptz', { name: 'started_at' }) startedAt!: Date;
  @Column('timestamptz', { name: 'lease_until' }) leaseUntil!: Date;
  /** The release that it runs. */
  @Column('text', { nullable: true }) version!: string | null;
  @Column('timestamptz', { name: 'renewed_at', default: () => 'now()' }) renewedAt!: Date;
  /** Since when the database has answered some worker or other without a gap of half a lease. */
  @Column('timestamptz', { name: 'watched_since', default: () => 'now()' }) watchedSince!: Date;
}
