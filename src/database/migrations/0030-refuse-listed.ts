// Old code still runs against it: it only adds a function.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: suppressions. */
export class RefuseListed1700000000030 extends ForwardOnlyMigration {
  readonly name = 'RefuseListed1700000000030';

  protected readonly sql = `
    create function refuse_listed(listed boolean) returns void language plpgsql stable as $$
      begin
        if listed then
          raise exception 'harmless: a recipient may be suppressed, the batch is screened and written again'
            using errcode = 'WB001';
        end if;
      end $$;
  `;
}
