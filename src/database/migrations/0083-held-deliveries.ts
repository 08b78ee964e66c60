// Old code still runs against it: it only adds columns, which old processes leave empty.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: delivery. */
export class HeldDeliveries1700000000083 extends ForwardOnlyMigration {
  readonly name = 'HeldDeliveries1700000000083';

  // Without a default the table is not rewritten.
  protected readonly sql = `
    alter table deliveries add column held_at timestamptz;
    alter table deliveries add column held_reason text;
    ${commentOn('deliveries', 'until the delivery has ended: four days at most after it was due', {
      held_at: 'none: when an operator put it aside',
      held_reason: "text: why, in the operator's own words",
    })}
  `;
}
