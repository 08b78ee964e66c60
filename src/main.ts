import { loadConfig, loadEnvFile } from './config/load-config';
import { createLogger } from './common/logging/logger';
import { AppModule } from './app.module';
import { limitHeapGrowth, runProcess } from './bootstrap/run-process';

/** Starts the roles of this process and serves until a signal stops it. */
limitHeapGrowth();
loadEnvFile();
try {
  const config = loadConfig();
  void runProcess(config, (parts) => AppModule.register(parts), createLogger({ level: config.logLevel }));
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
