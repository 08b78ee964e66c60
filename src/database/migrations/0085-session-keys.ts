// Old code still runs against it: it only adds columns that have a default.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

const SESSION_ONLY = {
  session_only: 'none: whether it was made for one session of the console, and ends with it',
} as const;

/** Owner: auth. */
export class SessionKeys1700000000085 extends ForwardOnlyMigration {
  readonly name = 'SessionKeys1700000000085';

  protected readonly sql = `
    alter table api_keys add column session_only boolean not null default false;
    alter table operator_keys add column session_only boolean not null default false;
    ${commentOn('api_keys', 'as long as the organization', SESSION_ONLY)}
    ${commentOn('operator_keys', 'as long as the installation', SESSION_ONLY)}
  `;
}
