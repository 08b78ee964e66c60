// Old code still runs against it: it only adds tables.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/**
 * Owner: delivery. The row `*` says that mail was sent before: the pools that the first worker of this release finds are not
 * new. It takes that row away.
 */
export class AddressWarmUp1700000000062 extends ForwardOnlyMigration {
  readonly name = 'AddressWarmUp1700000000062';

  protected readonly sql = `
    create table egress_addresses (
      address text primary key,
      warm_up_day integer not null default 0,
      warm_up_date date,
      warm_up_ended_at timestamptz,
      warm_up_started_at timestamptz not null default now()
    );
    insert into egress_addresses (address, warm_up_ended_at)
    select '*', now() where exists (select 1 from emails limit 1);
    create table egress_volumes (
      address text not null,
      day date not null,
      provider text not null,
      taken integer not null,
      primary key (address, provider, day)
    );
    create index egress_volumes_day on egress_volumes (day);
    ${commentOn('egress_addresses', 'until the address is removed by hand', {
      address: 'none: one of our own addresses',
      warm_up_day: 'none: days on which it has sent',
      warm_up_date: 'none: the last of these',
      warm_up_ended_at: 'none: when its limits ended',
      warm_up_started_at: 'none: when it was seen first, or begun again',
    })}
    ${commentOn('egress_volumes', 'seven days', {
      address: 'none: one of our own addresses',
      day: 'none: the day',
      provider: 'none: the receivers',
      taken: 'none: how many mails it has sent to them',
    })}
  `;
}
