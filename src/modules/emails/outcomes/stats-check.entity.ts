import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The comparison of one day's counters with its events, running or completed. */
@Entity('stats_checks')
export class StatsCheckRun {
  /** A UTC date. */
  @PrimaryColumn('date') day!: string;
  @Column('timestamptz', { name: 'claimed_at' }) claimedAt!: Date;
  @Column('timestamptz', { name: 'finished_at', nullable: true }) finishedAt!: Date | null;
  /** Number of counters that differed; null while the check runs. */
  @Column('integer', { nullable: true }) drift!: number | null;
}
