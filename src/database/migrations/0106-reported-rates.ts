import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: it adds a nullable column, which an old worker leaves null; new workers then count its rate as 0.
/** Owner: delivery. How much each worker sends, so that a limit of the rate can be derived from what all of them send. */
export class ReportedRates1700000000106 extends ForwardOnlyMigration {
  readonly name = 'ReportedRates1700000000106';

  protected readonly sql = `
    alter table destination_reports add column per_minute integer;
    ${commentOn('destination_reports', 'an hour; the newest of a group for as long as a rule is about it', {
      per_minute: 'none: attempts begun in a minute',
    })}
  `;
}
