import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { ALL_SCOPES } from '../../../src/common/http/scopes';
import type { Clock } from '../../../src/common/clock';
import type { Mode } from '../../../src/common/tenant';
import { ExportHandler } from '../../../src/modules/privacy/export/export-handler.service';
import { PrivacyModule } from '../../../src/modules/privacy/privacy.module';
import { PrivacyRequestsJob } from '../../../src/modules/privacy/privacy-requests.job';
import type { ApiClient, Answer } from '../../e2e/kit/api-client';
import { contextOf, type Core, processOf, testConfig } from '../../setup/core-context';
import { DomainsApp } from '../domains/domains-app';

export interface Requester {
  readonly organizationId: string;
  readonly liveKey: string;
  readonly api: ApiClient;
  /** With a key of the test mode. */
  readonly testApi: ApiClient;
}

/** The API of one process and the privacy work of others, on one database and one clock. Nothing runs by itself. */
export class PrivacyScene {
  private readonly workers: Core[] = [];

  private constructor(readonly app: DomainsApp) {}

  static async open(env?: Record<string, string>): Promise<PrivacyScene> {
    const scene = new PrivacyScene(await DomainsApp.start(env));
    await scene.addWorker();
    return scene;
  }

  get db() {
    return this.app.db;
  }

  get clock() {
    return this.app.clock;
  }

  /** A further process that works off requests. */
  async addWorker(): Promise<Core> {
    const worker = await startPrivacyWorker(this.db.url, this.clock);
    this.workers.push(worker);
    return worker;
  }

  async requester(): Promise<Requester> {
    const { organizationId, api } = await this.app.owner();
    const keys = this.app.get(ApiKeysService);
    const create = (mode: Mode) => keys.create(organizationId, { name: mode, mode, scopes: ALL_SCOPES });
    const [{ key: liveKey }, { key: testKey }] = await Promise.all([create('live'), create('test')]);
    return { organizationId, liveKey, api: api.as(liveKey), testApi: api.as(testKey) };
  }

  /** Works off all open exports, as the job does. */
  work(worker: Core | undefined = this.workers[0]): Promise<void> {
    if (!worker) throw new Error('There is no worker');
    return worker.get(PrivacyRequestsJob).workOff(worker.get(ExportHandler));
  }

  get worker(): Core {
    const [worker] = this.workers;
    if (!worker) throw new Error('There is no worker');
    return worker;
  }

  /** Asks for an export and returns its id. */
  async request(api: ApiClient, email: string, fields: object = {}): Promise<string> {
    return dataOf(await api.post('/v1/gdpr/export', { email, ...fields }), 202).requestId;
  }

  /** Asks for an export, works it off, and reads it. */
  async export(api: ApiClient, email: string, fields: object = {}): Promise<any> {
    const id = await this.request(api, email, fields);
    await this.work();
    return this.read(api, id);
  }

  async read(api: ApiClient, id: string): Promise<any> {
    return dataOf(await api.get(`/v1/gdpr/export/${id}`));
  }

  /** What a client gets that takes bytes of a type. */
  async download({ liveKey }: Requester, id: string, accept: string): Promise<{ headers: Headers; bytes: Buffer }> {
    const response = await fetch(`http://127.0.0.1:${this.app.port}/v1/gdpr/export/${id}`, {
      headers: { authorization: `Bearer ${liveKey}`, accept },
    });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    return { headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
  }

  parts(requestId: string) {
    return this.db.query<{ section: string; part: number; content: Buffer }>(
      'select section, part, content from privacy_export_parts where request_id = $1 order by section, part',
      [requestId],
    );
  }

  async close(): Promise<void> {
    for (const worker of this.workers) await worker.close();
    await this.app.close();
  }
}

/** The privacy work of a process; nothing runs by itself. */
export async function startPrivacyWorker(url: string, clock: Clock, env: Record<string, string> = {}): Promise<Core> {
  const options = { config: testConfig(env), databaseUrl: url, clock, runJobs: true };
  return contextOf(await processOf({ ...options, imports: [PrivacyModule] }).compile(), false);
}

export function dataOf({ status, body }: Answer, expected = 200): any {
  if (status !== expected) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body.data;
}
