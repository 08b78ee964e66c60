import { statSync } from 'node:fs';
import { ConfigurationError } from './load-config';

/**
 * Reads `.env` of the working directory into the environment, when there is one. A variable that is set already wins.
 *
 * @throws ConfigurationError when it is there but cannot be read.
 */
export function loadEnvFile(file = '.env'): void {
  const found = statSync(file, { throwIfNoEntry: false });
  // Some tools keep a folder of that name; it is not ours.
  if (!found || found.isDirectory()) return;
  try {
    process.loadEnvFile(file);
  } catch (error) {
    throw new ConfigurationError([`${file} cannot be read: ${(error as Error).message}`]);
  }
}
