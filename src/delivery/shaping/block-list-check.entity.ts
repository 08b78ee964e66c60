import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ListingState } from './sql/block-list-checks.sql';

/** What a block list said of one of the installation's addresses last. Rows are written by a statement (sql/). */
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
