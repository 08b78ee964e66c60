import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { ALL_SCOPES, type Scope } from '../../../src/common/http/scopes';
import type { Mode } from '../../../src/common/tenant';
import type { ApiClient, Answer } from '../../e2e/kit/api-client';
import { addDomain } from '../../factories/tenants';
import { DomainsApp } from '../domains/domains-app';

export const HOST = 'hooks.example.com';
export const URL = `https://${HOST}/mail`;
export const PUBLIC_ADDRESS = '93.184.215.14';

export interface Customer {
  readonly organizationId: string;
  readonly domainId: string;
  readonly keyId: string;
  /** A live key with every scope. */
  readonly api: ApiClient;
  /** A further key. */
  key(fields?: { mode?: Mode; scopes?: readonly Scope[]; domainId?: string }): Promise<ApiClient>;
}

/** The API of one process, whose DNS has one host that webhooks can be sent to. */
export class WebhooksApp {
  private constructor(readonly app: DomainsApp) {}

  static async start(env: Record<string, string> = {}): Promise<WebhooksApp> {
    const app = await DomainsApp.start(env);
    // Event ids are of the database's clock.
    app.clock.set(new Date());
    app.dns.set({ [HOST]: { A: [PUBLIC_ADDRESS] } });
    return new WebhooksApp(app);
  }

  get db() {
    return this.app.db;
  }

  get clock() {
    return this.app.clock;
  }

  async customer(): Promise<Customer> {
    const { organizationId, keyId, api } = await this.app.owner();
    const domainId = await addDomain(this.db, organizationId, { isDefault: true });
    const key: Customer['key'] = async ({ mode = 'live', scopes = ALL_SCOPES, domainId: boundTo } = {}) => {
      const made = await this.app
        .get(ApiKeysService)
        .create(organizationId, { name: 'further', mode, scopes, domainId: boundTo });
      return api.as(made.key);
    };
    return { organizationId, domainId, keyId, api, key };
  }

  /** Adds a webhook and returns it with its secret. */
  async add(api: ApiClient, fields: Record<string, unknown> = {}): Promise<any> {
    return dataOf(await api.post('/v1/webhooks', { url: URL, events: ['*'], ...fields }), 201);
  }

  messages(endpointId: string) {
    return this.db.query('select * from webhook_messages where endpoint_id = $1 order by id', [endpointId]);
  }

  async endpoint(id: string): Promise<Record<string, any>> {
    const [row] = await this.db.query('select * from webhook_endpoints where id = $1', [id]);
    return row ?? {};
  }

  close(): Promise<void> {
    return this.app.close();
  }
}

/** The data of a response with this status. */
export function dataOf({ status, body }: Answer, expected = 200): any {
  if (status !== expected) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body.data;
}

/** What is wrong with the fields of a request. */
export function problemsOf({ status, body }: Answer): unknown {
  return status === 400 ? body.error.details.validation : `${status} ${JSON.stringify(body)}`;
}
