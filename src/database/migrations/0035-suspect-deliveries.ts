// Old code still runs against it: it only adds an index.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: delivery. */
export class SuspectDeliveries1700000000035 extends ForwardOnlyMigration {
  readonly name = 'SuspectDeliveries1700000000035';

  protected readonly sql = `
    -- Deliveries that two workers died with (SUSPECT_CRASHES); almost always empty.
    create index deliveries_suspect on deliveries (due_at, email_id, position) where state = 'waiting' and crashes >= 2;
  `;
}
