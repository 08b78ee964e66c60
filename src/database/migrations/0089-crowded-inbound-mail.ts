// Old code still runs against it: it only adds an index.
import { BuildIndexesMigration } from './forward-only';

/** Owner: inbound-mail. */
export class CrowdedInboundMail1700000000089 extends BuildIndexesMigration {
  readonly name = 'CrowdedInboundMail1700000000089';

  /** Mail that names as many as are indexed, or more: whoever is erased is looked for in its header. Hardly any is in it. */
  protected readonly indexes = [
    {
      name: 'inbound_emails_crowded',
      table: 'inbound_emails',
      definition: '(organization_id, mode, id) where cardinality(addresses) >= 200',
    },
  ];
}
