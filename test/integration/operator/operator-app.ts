import { OperatorKeysService } from '../../../src/auth/keys/operator-keys.service';
import { ALL_OPERATOR_SCOPES, type OperatorScope } from '../../../src/common/http/scopes';
import { ApiClient } from '../../e2e/kit/api-client';
import type { DomainsApp } from '../domains/domains-app';

export interface OperatorClient {
  readonly keyId: string;
  readonly api: ApiClient;
}

/** A new operator key, and a client that uses it. */
export async function operatorOf(
  app: DomainsApp,
  scopes: readonly OperatorScope[] = ALL_OPERATOR_SCOPES,
  expiresAt?: Date,
): Promise<OperatorClient> {
  const { id, key } = await app.get(OperatorKeysService).create({ name: 'ops', scopes, expiresAt });
  return { keyId: id, api: new ApiClient(app.port, key) };
}
