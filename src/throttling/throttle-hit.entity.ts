import { Column, Entity, PrimaryColumn } from 'typeorm';

/** One counter of one window, shared by all processes. Written in bulk: see `sql/throttle-hits.sql.ts`. */
@Entity('throttle_hits')
export class ThrottleHit {
  @PrimaryColumn('text') key!: string;
  @PrimaryColumn('timestamptz', { name: 'window_start' }) windowStart!: Date;
  @Column('bigint') hits!: string;
  @Column('timestamptz', { name: 'expires_at' }) expiresAt!: Date;
}
