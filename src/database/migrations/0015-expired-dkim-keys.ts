// Old code still runs against it: it only adds an index.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: domains. */
export class ExpiredDkimKeys1700000000015 extends ForwardOnlyMigration {
  readonly name = 'ExpiredDkimKeys1700000000015';

  protected readonly sql = `
    -- A job asks every few minutes which keys have had their time, among those of all domains.
    create index dkim_keys_retiring on dkim_keys (expires_at) where state = 'retiring';
  `;
}
