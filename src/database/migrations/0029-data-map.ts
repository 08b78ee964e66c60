// Old code still runs against it: it only adds comments.
import { ACCOUNTS, COUNTERS } from './data-map/accounts';
import { MAIL_COMMENTS } from './data-map/mail';
import { RECEIVING } from './data-map/receiving';
import { ForwardOnlyMigration } from './forward-only';

/** What every column holds of people, what for and for how long: docs/privacy.md is made of it. */
export class DataMap1700000000029 extends ForwardOnlyMigration {
  readonly name = 'DataMap1700000000029';

  protected readonly sql = [ACCOUNTS, MAIL_COMMENTS, RECEIVING, COUNTERS].join('');
}
