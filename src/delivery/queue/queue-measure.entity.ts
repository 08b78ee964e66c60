import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The last count of the queue, shared by all processes: one row. Written by `sql/measure-queue.sql.ts`. */
@Entity('queue_measures')
export class QueueMeasureRow {
  @PrimaryColumn('smallint') id!: 1;
  @Column('integer') ready!: number;
  @Column('integer') waiting!: number;
  @Column('integer') claimed!: number;
  @Column('integer', { default: 0 }) held!: number;
  @Column('timestamptz', { name: 'oldest_ready_at', nullable: true }) oldestReadyAt!: Date | null;
  @Column('timestamptz', { name: 'measured_at' }) measuredAt!: Date;
  @Column('interval') took!: unknown;
  @Column('timestamptz', { name: 'begun_at' }) begunAt!: Date;
}
