import { ApiModule } from './api.module';
import type { Modules } from './bootstrap/process.module';
import { limitHeapGrowth, logConfigurationError, runProcess } from './bootstrap/run-process';
import { createLogger } from './common/logging/logger';
import type { Role } from './config/config';
import { ConfigurationError, loadConfig, loadEnvFile } from './config/load-config';
import { DkimZoneModule } from './modules/dkim-zone/dkim-zone.module';
import { MasterKeyCheckModule } from './modules/domains/dkim/master-key-check.module';
import { InboundModule } from './modules/inbound/inbound.module';
import { SubmissionModule } from './modules/submission/submission.module';
import { WorkerModule } from './worker.module';

/** What each role adds to a process. */
const MODULES: Record<Role, Modules> = {
  api: [MasterKeyCheckModule, ApiModule],
  worker: [MasterKeyCheckModule, WorkerModule],
  inbound: [MasterKeyCheckModule, InboundModule],
  dns: [DkimZoneModule],
  submission: [MasterKeyCheckModule, SubmissionModule],
};

/** Starts the roles of this process and serves until a signal stops it. */
limitHeapGrowth();
loadEnvFile();
try {
  const config = loadConfig();
  const modules = [...config.roles].flatMap((role) => MODULES[role]);
  void runProcess(config, modules, createLogger({ level: config.logLevel }));
} catch (error) {
  const logger = createLogger({ level: 'info' });
  if (error instanceof ConfigurationError) logConfigurationError(logger, error);
  else logger.fatal({ err: error }, 'start failed');
  process.exitCode = 1;
}
