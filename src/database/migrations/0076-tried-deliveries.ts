// Old code still runs against it: it only adds an index.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: delivery. */
export class TriedDeliveries1700000000076 extends ForwardOnlyMigration {
  readonly name = 'TriedDeliveries1700000000076';

  protected readonly sql = `
    -- Suspects (SUSPECT_CRASHES) that a worker tries at this moment; almost always empty. Looked for every second by each worker,
    -- which would otherwise read all that is claimed.
    create index deliveries_tried on deliveries (session_id, claimed_at) where state = 'claimed' and crashes >= 2;
  `;
}
