// The encrypted secrets of all endpoints, for a change of the master key.
import { NIL_ID } from '../../../common/ids';
import type { Statement } from '../../../database/statement';
import type { WebhookEndpoint } from '../webhook-endpoint.entity';

// The encrypted secrets of all organizations' endpoints in key order, up to $4 endpoints after the key ($1, $2, $3).
// Reads: webhook_endpoints (primary key). Locks: none. Rows: up to $4.
// Without organization: the master key is the operator's, and encrypts the secrets of all of them.
// Not the ORM: pages by a row comparison.

export type EncryptedSecrets = Pick<WebhookEndpoint, 'organizationId' | 'mode' | 'id' | 'secret' | 'previousSecret'>;

const LIST = `
  select organization_id as "organizationId", mode, id, secret, previous_secret as "previousSecret"
  from webhook_endpoints
  where (organization_id, mode, id) > ($1, $2, $3)
  order by organization_id, mode, id
  limit $4`;

/** @param after the last row of the page before; by default the first page */
export function listEncryptedSecrets(limit: number, after?: EncryptedSecrets): Statement<EncryptedSecrets> {
  const { organizationId = NIL_ID, mode = '', id = NIL_ID } = after ?? {};
  return { name: 'list-encrypted-webhook-secrets', text: LIST, values: [organizationId, mode, id, limit] };
}

// Puts secrets that have been encrypted again in the place of the same secrets as they were read; those of an endpoint that
// has changed or gone since stay as they are.
// Writes: webhook_endpoints (primary key). Locks: the rows, in key order. Rows: up to 100.
// Not the ORM: a comparison with what was read, and many rows in one statement.

export interface ReEncryptedSecrets extends EncryptedSecrets {
  readonly encrypted: Pick<EncryptedSecrets, 'secret' | 'previousSecret'>;
}

const REPLACE = `
  with given as (
    select * from unnest($1::uuid[], $2::text[], $3::uuid[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[])
      as given (organization_id, mode, id, secret, previous, encrypted, encrypted_previous)
  ), locked as (
    select e.organization_id, e.mode, e.id, given.encrypted, given.encrypted_previous
    from given
    join webhook_endpoints e using (organization_id, mode, id)
    where e.secret = given.secret and e.previous_secret is not distinct from given.previous
    order by e.organization_id, e.mode, e.id
    for update of e
  )
  update webhook_endpoints e
  set secret = locked.encrypted, previous_secret = locked.encrypted_previous
  from locked
  where e.organization_id = locked.organization_id and e.mode = locked.mode and e.id = locked.id
  returning 1 as replaced`;

export function replaceEncryptedSecrets(rows: readonly ReEncryptedSecrets[]): Statement<{ replaced: 1 }> {
  return {
    name: 'replace-encrypted-webhook-secrets',
    text: REPLACE,
    values: [
      rows.map((row) => row.organizationId),
      rows.map((row) => row.mode),
      rows.map((row) => row.id),
      rows.map((row) => row.secret),
      rows.map((row) => row.previousSecret),
      rows.map((row) => row.encrypted.secret),
      rows.map((row) => row.encrypted.previousSecret),
    ],
  };
}
