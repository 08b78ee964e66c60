import 'reflect-metadata';
import { loadEnvFile } from '../config/load-config';
import { Output } from './session/output';
import { runCli } from './run-cli';

void runCli(process.argv.slice(2), Output.ofProcess, { prepare: loadEnvFile }).then((exitCode) => {
  // It may have been set where the result could not be written.
  process.exitCode ||= exitCode;
});
