// Old code still runs against it: it only adds tables.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: mailbox. */
export class Mailbox1700000000008 extends ForwardOnlyMigration {
  readonly name = 'Mailbox1700000000008';

  protected readonly sql = `
    create table mailbox_messages (
      id uuid primary key,
      received_at timestamptz not null default now(),
      return_path text not null,
      recipients text[] not null,
      sender text not null,
      subject text not null,
      size integer not null,
      raw bytea not null
    );
    -- Compressing every message costs more than the space is worth here.
    alter table mailbox_messages alter column raw set storage external;
  `;
}
