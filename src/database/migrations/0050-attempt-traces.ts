// Old code still runs against it: it only adds a column, which old workers leave empty.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: emails. */
export class AttemptTraces1700000000050 extends ForwardOnlyMigration {
  readonly name = 'AttemptTraces1700000000050';

  // A column of the event instead of a table: no second row, no second index, and removed with the event.
  protected readonly sql = `
    alter table email_events add column trace jsonb;
    ${commentOn('email_events', 'RETENTION_EMAILS_MONTHS', {
      trace: 'none: of an attempt its times, the receiving host, TLS, and what the reply called for',
    })}
  `;
}
