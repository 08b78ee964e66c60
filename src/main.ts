import { ApiModule } from './api.module';
import { lowerPoolPriority } from './bootstrap/pool-priority';
import type { Modules } from './bootstrap/process.module';
import { exit, limitHeapGrowth, logFailedStart, runProcess, warnOfMisspelledVariables } from './bootstrap/run-process';
import { createLogger, logConsole } from './common/logging/logger';
import type { Role } from './config/config';
import { loadConfig, loadEnvFile } from './config/load-config';
import { DkimZoneModule } from './modules/dkim-zone/dkim-zone.module';
import { MasterKeyCheckModule } from './modules/domains/domains.module';
import { InboundSmtpModule } from './modules/inbound-smtp/inbound-smtp.module';
import { SubmissionModule } from './modules/submission/submission.module';
import { WorkerModule } from './worker.module';

/** What each role adds to a process. */
const MODULES: Record<Role, Modules> = {
  api: [MasterKeyCheckModule, ApiModule],
  worker: [MasterKeyCheckModule, WorkerModule],
  inbound: [MasterKeyCheckModule, InboundSmtpModule],
  dns: [DkimZoneModule],
  submission: [MasterKeyCheckModule, SubmissionModule],
};

/** Starts the roles of this process and serves until a signal stops it. */
limitHeapGrowth();
lowerPoolPriority();
try {
  loadEnvFile();
  const config = loadConfig();
  const modules = [...config.roles].flatMap((role) => MODULES[role]);
  const logger = createLogger({ level: config.logLevel });
  logConsole(logger);
  void runProcess(config, modules, logger);
} catch (error) {
  const logger = createLogger({ level: 'info' });
  warnOfMisspelledVariables(logger);
  logFailedStart(logger, error);
  process.exitCode = 1;
  exit(logger);
}
