// Old code still runs against it: how it is stored is no business of statements.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: emails. */
export class AttachmentsAsTheyAre1700000000090 extends ForwardOnlyMigration {
  readonly name = 'AttachmentsAsTheyAre1700000000090';

  // Of what comes from now on, in all partitions; no row is rewritten. Most files are compressed by their own format, and pglz tries
  // all of one that begins with text, like a PDF: 69 ms of CPU for 5 MB rather than 22. Text takes more room (5 MB of CSV were 1.8).
  protected readonly sql = `
    do $$
    begin
      -- Where rows are on several nodes already, storage cannot be changed from here; they stay as they are.
      if is_distributed('email_attachments'::regclass) then return; end if;
      alter table email_attachments alter column content set storage external;
    end $$;
  `;
}
