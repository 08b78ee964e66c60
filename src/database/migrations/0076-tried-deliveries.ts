// Old code still runs against it: it only adds an index.
import { BuildIndexesMigration } from './forward-only';

/** Owner: delivery. */
export class TriedDeliveries1700000000076 extends BuildIndexesMigration {
  readonly name = 'TriedDeliveries1700000000076';

  /**
   * Suspects (SUSPECT_CRASHES) that a worker tries at this moment; almost always empty. Looked for every second by each worker,
   * which would otherwise read all that is claimed.
   */
  protected readonly indexes = [
    {
      name: 'deliveries_tried',
      table: 'deliveries',
      definition: `(session_id, claimed_at) where state = 'claimed' and crashes >= 2`,
    },
  ];
}
