// Old code still runs against it: it only adds a table. Entries that are hashed meanwhile do not block in old processes.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: suppressions. */
export class SuppressionHashKeys1700000000026 extends ForwardOnlyMigration {
  readonly name = 'SuppressionHashKeys1700000000026';

  protected readonly sql = `
    -- Organizations of which an address has been erased that must stay blocked: its entries have 'hmac:' and a keyed hash
    -- as their address_key, and a masked address.
    create table suppression_hash_keys (
      organization_id uuid primary key,
      -- 32 random bytes, sealed: not derived from the master key, so that the hashes outlive a change of it.
      secret bytea not null,
      created_at timestamptz not null
    );
  `;
}
