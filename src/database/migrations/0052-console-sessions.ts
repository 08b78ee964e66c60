// Old code still runs against it: it only adds tables.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: auth. Both are looked up by what the browser shows, before anybody knows the tenant: hence their primary keys. */
export class ConsoleSessions1700000000052 extends ForwardOnlyMigration {
  readonly name = 'ConsoleSessions1700000000052';

  protected readonly sql = `
    create table console_sessions (
      hash bytea primary key,
      organization_id uuid not null,
      key_id uuid not null,
      created_at timestamptz not null,
      expires_at timestamptz not null
    );
    create index console_sessions_key on console_sessions (organization_id, key_id, created_at);
    create index console_sessions_expiry on console_sessions (expires_at);

    create table console_links (
      hash bytea primary key,
      organization_id uuid not null,
      mode text,
      expires_at timestamptz not null
    );
    ${commentOn('console_sessions', '12 hours, or until the sign-out', {
      hash: 'hash: SHA-256 of the session id in the cookie',
      organization_id: 'none: the tenant; all zeros for an operator',
      key_id: 'none: the key that it was opened with, and ends with',
      created_at: 'none: when somebody signed in',
      expires_at: 'none: when it ends by itself',
    })}
    ${commentOn('console_links', '15 minutes, or until it is used', {
      hash: 'hash: SHA-256 of the token in the link',
      organization_id: 'none: the tenant; all zeros for an operator',
      mode: 'none: live or test',
      expires_at: 'none: until when it works',
    })}
  `;
}
