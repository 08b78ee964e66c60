// Old code still runs against it: it only adds a table.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: delivery. */
export class BlockListChecks1700000000059 extends ForwardOnlyMigration {
  readonly name = 'BlockListChecks1700000000059';

  protected readonly sql = `
    -- What block lists said last of the addresses that mail leaves from.
    create table block_list_checks (
      address text not null,
      list text not null,
      state text not null check (state in ('listed', 'clear', 'unknown')),
      reply text not null,
      since timestamptz not null default now(),
      checked_at timestamptz not null default now(),
      primary key (address, list)
    );
    ${commentOn('block_list_checks', 'until the next look', {
      address: "none: one of the installation's own addresses",
      list: 'none: the block list',
      state: 'none: what it says',
      reply: 'none: its reply in words',
      since: 'none: since when it says so',
      checked_at: 'none: when it was asked last',
    })}
  `;
}
