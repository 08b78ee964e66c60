// Old code still runs against it: it only adds a column with a default, which old processes do not read.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: modules/domains. */
export class RequireTls1700000000060 extends ForwardOnlyMigration {
  readonly name = 'RequireTls1700000000060';

  // A constant default: the table is not rewritten.
  protected readonly sql = `
    alter table domains add column require_tls boolean not null default false;
    ${commentOn('domains', 'as long as the domain', {
      require_tls: 'none: whether its mail may go over encrypted connections only',
    })}
  `;
}
