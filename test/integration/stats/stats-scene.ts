import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { HOUR } from '../../../src/common/clock';
import type { Mode } from '../../../src/common/tenant';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { type Counter, StatsService } from '../../../src/modules/stats/stats.service';
import type { ApiClient } from '../../e2e/kit/api-client';
import { DomainsApp, type Owner } from '../domains/domains-app';

export type Counts = Partial<Record<Counter, number>>;

/** The API with counters that a test writes as the engine does. */
export class StatsScene {
  private constructor(readonly app: DomainsApp) {}

  static async open(env?: Record<string, string>): Promise<StatsScene> {
    return new StatsScene(await DomainsApp.start(env));
  }

  async addDomain({ organizationId }: Owner, name: string): Promise<string> {
    return (await this.app.get(DomainsService).add(organizationId, name)).id;
  }

  /** Appends counters, not folded yet. */
  count(
    { organizationId }: Owner,
    domainId: string,
    at: string | Date,
    counts: Counts,
    mode: Mode = 'live',
  ): Promise<void> {
    const deltas = Object.entries(counts).map(([counter, by]) => {
      return { organizationId, domainId, mode, occurredAt: new Date(at), counter: counter as Counter, by };
    });
    const stats = this.app.get(StatsService);
    return this.app.db.database.transaction((tx) => Promise.resolve(stats.record(deltas, tx)));
  }

  fold(): Promise<void> {
    return this.app.get(StatsService).fold();
  }

  /** A client with a key of the test mode. */
  async testClient({ organizationId, api }: Owner): Promise<ApiClient> {
    const wanted = { name: 'test', mode: 'test', scopes: ['stats:read'] } as const;
    return api.as((await this.app.get(ApiKeysService).create(organizationId, wanted)).key);
  }

  close(): Promise<void> {
    return this.app.close();
  }
}

export const day = (from: string, to: string) => `start_date=${from}&end_date=${to}`;

/** The data of a successful response. */
export async function read(api: ApiClient, path: string): Promise<any> {
  const { status, body } = await api.get(`/v1/stats${path}`);
  expect({ status, error: body.error }).toEqual({ status: 200, error: undefined });
  return body.data;
}

export const hoursAfter = (time: string, hours: number) => new Date(Date.parse(time) + hours * HOUR).toISOString();
