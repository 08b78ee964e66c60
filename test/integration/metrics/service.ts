import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiModule } from '../../../src/api.module';
import type { Modules } from '../../../src/bootstrap/process.module';
import { startService } from '../../../src/bootstrap/start-service';
import { createLogger } from '../../../src/common/logging/logger';
import { Metrics } from '../../../src/common/metrics/metrics';
import { DkimZoneModule } from '../../../src/modules/dkim-zone/dkim-zone.module';
import { InboundSmtpModule } from '../../../src/modules/inbound-smtp/inbound-smtp.module';
import { SubmissionModule } from '../../../src/modules/submission/submission.module';
import { WorkerModule } from '../../../src/worker.module';
import { type Family, parseExposition } from '../../setup/exposition';
import { testConfig } from '../../setup/core-context';

interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** Of all processes: what Nest logs goes to the one that was started last. */
export const lines: LogLine[] = [];

const MODULES: Record<string, Modules> = {
  all: [ApiModule, WorkerModule, InboundSmtpModule, DkimZoneModule, SubmissionModule],
  api: [ApiModule],
  worker: [WorkerModule],
};

/** One process as an operator starts it, with its ports, in this process. */
export async function startProcess(url: string, roles: 'all' | 'api' | 'worker', env: Record<string, string> = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), 'waybill-metrics-'));
  const ports = {
    PORT: '0',
    METRICS_PORT: '0',
    INBOUND_SMTP_PORT: '0',
    SUBMISSION_PORT: '0',
    SUBMISSIONS_PORT: '0',
    DNS_PORT: '0',
  };
  const config = testConfig({
    ...ports,
    ...{ WAYBILL_ROLES: roles, WAYBILL_DATA_DIR: dataDir, DNS_SERVERS: '127.0.0.1:9', HOST: '127.0.0.1' },
    ...env,
  });
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as LogLine) };
  const logger = createLogger({ level: config.logLevel, destination });
  const service = await startService(config, { url }, MODULES[roles] ?? [], logger);
  return {
    app: service.app,
    port: service.port,
    submissionPort: service.submission?.port,
    metrics: service.app.get(Metrics),
    scrape: async (): Promise<Family[]> => {
      const response = await fetch(`http://127.0.0.1:${service.metricsPort}/metrics`);
      return parseExposition(await response.text());
    },
    close: async () => {
      await service.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export type RunningProcess = Awaited<ReturnType<typeof startProcess>>;
