// Old code still runs against it: it only adds a table.
import { commentOn, OWNER } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: suppressions. */
export class MissingDomains1700000000033 extends ForwardOnlyMigration {
  readonly name = 'MissingDomains1700000000033';

  protected readonly sql = `
    -- Recipients whose domain the DNS did not know when a mail to them was tried; two such days suppress the address.
    create table missing_domains (
      organization_id uuid not null,
      mode text not null check (mode in ('live', 'test')),
      -- The normal form of the address.
      address_key text not null,
      -- Days in UTC, by the clock of the database.
      first_seen_on date not null,
      last_seen_on date not null,
      primary key (organization_id, mode, address_key)
    );
    create index missing_domains_age on missing_domains (last_seen_on);
    ${commentOn('missing_domains', '30 days', {
      ...OWNER,
      address_key: 'address: the recipient',
      first_seen_on: 'none: when its domain was missing first (UTC)',
      last_seen_on: 'none: when it was missing last (UTC)',
    })}
  `;
}
