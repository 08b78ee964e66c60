// The encrypted secrets of all organizations' endpoints in key order, up to $4 endpoints after the key ($1, $2, $3).
// Reads: webhook_endpoints (primary key). Locks: none. Rows: up to $4.
// Without organization: the master key is the operator's, and encrypts the secrets of all of them.
// Not the ORM: pages by a row comparison.
import { NIL_ID } from '../../../common/ids';
import type { Statement } from '../../../database/statement';
import type { WebhookEndpoint } from '../webhook-endpoint.entity';

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
