// Old code still runs against it: it only adds an index.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: domains. */
export class PublishedKeys1700000000013 extends ForwardOnlyMigration {
  readonly name = 'PublishedKeys1700000000013';

  protected readonly sql = `
    -- The DNS responder is asked by domain: a name in a public zone tells nothing of organizations.
    create index dkim_keys_domain on dkim_keys (domain_id);
  `;
}
