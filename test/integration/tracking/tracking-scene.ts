import { request } from 'node:http';
import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { Metrics } from '../../../src/common/metrics/metrics';
import type { Mode } from '../../../src/common/tenant';
import { RecipientLink } from '../../../src/delivery/tokens/recipient-link';
import { BURST_MS } from '../../../src/modules/tracking/hit-history';
import { FakeClock } from '../../doubles/fake-clock';
import { ApiClient } from '../../e2e/kit/api-client';
import { readCounters } from '../../factories/stored-email';
import { type Api, startApi } from '../../setup/api-context';
import { testConfig } from '../../setup/core-context';
import { DeliveryScene } from '../../setup/delivery-scene';
import { waitFor } from '../../setup/wait-for';

export const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0';
/** The master key has been changed to that of `testConfig`. */
export const PREVIOUS_KEY = Buffer.alloc(32, 9);

/** What has been decided about a hit in the end. */
const FINAL = ['recorded', 'automated', 'gone', 'dropped', 'repeated', 'refused'];

export interface LinkFields {
  readonly position?: number;
  readonly mode?: Mode;
  readonly masterKey?: Buffer;
}

export interface Visitor {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  /** As the proxy in front reports it; null: on this machine, without the proxy. */
  readonly address?: string | null;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** A tenant, and the API behind a proxy; time stands still there unless a test moves it. */
export class TrackingScene {
  private ordinal = 0;
  private hits = 0;

  private constructor(
    readonly scene: DeliveryScene,
    readonly api: Api,
    readonly clock: FakeClock,
  ) {}

  /** @param databaseUrlOf where the API finds the database, if not there directly */
  static async start(
    databaseUrlOf = (url: string): Promise<string> => Promise.resolve(url),
    env: Record<string, string> = {},
  ): Promise<TrackingScene> {
    const scene = await DeliveryScene.open();
    const clock = new FakeClock(new Date());
    const settings = { TRUST_PROXY: 'true', MASTER_KEY_PREVIOUS: PREVIOUS_KEY.toString('base64'), ...env };
    const app = new TrackingScene(
      scene,
      await startApi(await databaseUrlOf(scene.db.url), { clock, env: settings }),
      clock,
    );
    const rows = await scene.db.query('select ordinal from organizations where id = $1', [scene.tenant.organizationId]);
    app.ordinal = rows[0]?.ordinal;
    return app;
  }

  pixel(emailId: string, fields: LinkFields = {}): string {
    return `/t/o/${this.linksOf(fields).issue('open', this.targetOf(emailId, fields))}`;
  }

  link(emailId: string, url: string, fields: LinkFields = {}): string {
    return `/t/c/${this.linksOf(fields).issue('click', { ...this.targetOf(emailId, fields), url })}`;
  }

  /** Fetches without following redirects, and without changing the headers of the response. */
  async fetch(path: string, { method = 'GET', headers = {}, address = '203.0.113.77' }: Visitor = {}): Promise<Answer> {
    this.hits += 1;
    const forwarded = address !== null && { 'x-forwarded-for': address };
    const sent = { 'user-agent': BROWSER, ...forwarded, ...headers };
    return new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port: this.api.port, method, path, headers: sent, agent: false }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
        );
      })
        .on('error', reject)
        .end();
    });
  }

  /** Lets time pass until every hit so far is decided. */
  async settle(): Promise<void> {
    this.clock.advance(BURST_MS);
    await waitFor(async () => (await this.decided()) === this.hits, { what: 'all hits to be decided' });
  }

  /** How many hits have come to a result. */
  async counted(result: string): Promise<number> {
    const text = await this.api.get(Metrics).registry.metrics();
    const lines = text.matchAll(new RegExp(`^waybill_tracking_hits_total\\{.*result="${result}"\\} (\\d+)$`, 'gm'));
    return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  /** The opens and clicks of an email as the API shows them. */
  async events(emailId: string): Promise<any[]> {
    const { events } = await (await this.client()).email(emailId);
    return events.filter(({ source }: { source: string }) => source === 'tracking');
  }

  async client(): Promise<ApiClient> {
    const wanted = { name: 'reader', mode: 'live', scopes: ['email:read'] } as const;
    const { key } = await this.scene.core.get(ApiKeysService).create(this.scene.tenant.organizationId, wanted);
    return new ApiClient(this.api.port, key);
  }

  counters(mode?: Mode) {
    return readCounters(this.scene.db, this.scene.tenant.organizationId, mode);
  }

  async close(): Promise<void> {
    await this.api.close();
    await this.scene.close();
  }

  private async decided(): Promise<number> {
    const counts = await Promise.all(FINAL.map((result) => this.counted(result)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  private linksOf({ masterKey = testConfig().masterKey }: LinkFields): RecipientLink {
    return new RecipientLink(masterKey);
  }

  private targetOf(emailId: string, { position = 0, mode = 'live' }: LinkFields) {
    return { organizationOrdinal: this.ordinal, mode, emailId, position };
  }
}
