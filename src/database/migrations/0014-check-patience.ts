// Old code still runs against it: it only adds a column without a value.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: domains. */
export class CheckPatience1700000000014 extends ForwardOnlyMigration {
  readonly name = 'CheckPatience1700000000014';

  protected readonly sql = `
    -- Since when a record that had been seen has been gone, without a break; null while it is there and when it never was.
    alter table domain_checks add column failing_since timestamptz;
  `;
}
