import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { ALL_SCOPES, type Scope } from '../../../src/common/http/scopes';
import type { Mode } from '../../../src/common/tenant';
import { Database } from '../../../src/database/pool/database.service';
import { AuditService } from '../../../src/audit/audit.service';
import { DomainsApp, type Owner } from '../domains/domains-app';

interface EntryFields {
  readonly actor?: string;
  readonly action?: string;
  readonly targetType?: string;
  readonly targetId?: string;
  readonly data?: object;
}

/** The API of one process, and what has been written down there. */
export class AuditScene {
  private constructor(readonly app: DomainsApp) {}

  static async start(): Promise<AuditScene> {
    return new AuditScene(await DomainsApp.start());
  }

  get keys(): ApiKeysService {
    return this.app.get(ApiKeysService);
  }

  /** Writes one entry. */
  async record(organizationId: string, fields: EntryFields = {}): Promise<void> {
    const defaults = { actor: 'operator', action: 'thing.changed', targetType: 'thing', targetId: '1' };
    const record = { organizationId, ...defaults, ...fields };
    await this.app.get(Database).transaction((tx) => this.app.get(AuditService).record([record], tx));
  }

  /** A further key of an organization, with its id. */
  async key(
    { organizationId, api }: Owner,
    fields: { mode?: Mode; scopes?: readonly Scope[]; domainId?: string; expiresAt?: Date } = {},
  ) {
    const wanted = { name: 'further', mode: 'live', scopes: ALL_SCOPES, ...fields } as const;
    const { id, key } = await this.keys.create(organizationId, wanted);
    return { id, api: api.as(key) };
  }

  /** What the API tells, newest first. */
  async entries({ api }: Pick<Owner, 'api'>, query = ''): Promise<any[]> {
    const { status, body } = await api.get(`/v1/audit-log${query}`);
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
    return body.data;
  }

  async actions(owner: Pick<Owner, 'api'>, query = ''): Promise<string[]> {
    return (await this.entries(owner, query)).map(({ action }) => action);
  }

  close(): Promise<void> {
    return this.app.close();
  }
}
