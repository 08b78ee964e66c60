// Old code still runs against it: it only adds an index.
import { BuildIndexesMigration } from './forward-only';

/** Owner: inbound-mail. */
export class InboundLists1700000000080 extends BuildIndexesMigration {
  readonly name = 'InboundLists1700000000080';

  /** The newest of one domain, for a key that is bound to it: among millions of other domains' they would not be found. */
  protected readonly indexes = [
    { name: 'inbound_emails_domain', table: 'inbound_emails', definition: '(organization_id, mode, domain_id, id)' },
  ];
}
