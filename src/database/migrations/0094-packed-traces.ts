// Old code still runs against it: it adds a column. Of attempts that succeed under new workers, old processes show no details.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: emails. What `trace` holds, as a text of a third of its length, for the event that every mail has. */
export class PackedTraces1700000000094 extends ForwardOnlyMigration {
  readonly name = 'PackedTraces1700000000094';

  protected readonly sql = `
    alter table email_events add column attempt text;
    ${commentOn('email_events', 'RETENTION_EMAILS_MONTHS', {
      attempt: 'none: of an attempt that succeeded its times, the receiving host and TLS',
    })}
  `;
}
