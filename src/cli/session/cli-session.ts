import type { INestApplicationContext } from '@nestjs/common';
import { InvalidArgumentError } from 'commander';
import { endsWithin, unlessAborted } from '../../common/async/promises';
import { SECOND } from '../../common/clock';
import { isUuid } from '../../common/ids';
import type { AppConfig } from '../../config/config';
import { readMasterKeyFrom } from '../../config/master-key';
import { isVariableSet, loadConfig, variableOf } from '../../config/load-config';
import { COMMAND_CONNECT_TIMEOUT_MS } from '../../database/pool/data-source';
import { type OpenDatabase, openDatabase, type OpenDatabaseOptions } from '../../database/start/open-database';
import { readSchemaState, type SchemaState } from '../../database/schema/schema-state';
import { CliError, type Output, type Report } from './output';

/** Where a command finds its services. */
export type Services = Pick<INestApplicationContext, 'get'>;

/** One command at a time needs one connection, and a second one inside a transaction. */
const POOL_SIZE = 2;
/** For an interrupted command to end its statement. */
const CLOSING_MS = 5 * SECOND;

/** What the commands share: configuration, database, services and output of one invocation. */
export class CliSession {
  /**
   * @param environment default: the process's own
   * @param interrupted aborted: what can stop in order does so
   */
  constructor(
    readonly output: Output,
    private readonly environment?: NodeJS.ProcessEnv,
    readonly interrupted: AbortSignal = new AbortController().signal,
  ) {}

  /**
   * @param overrides variables instead of the environment's
   * @param create makes the master key of an embedded database where there is none
   * @throws ConfigurationError
   */
  config(overrides: NodeJS.ProcessEnv = {}, create = false): AppConfig {
    const config = loadConfig(this.environment, overrides, create);
    return {
      ...config,
      database: { ...config.database, poolSize: POOL_SIZE, connectTimeoutMs: COMMAND_CONNECT_TIMEOUT_MS },
    };
  }

  /** Whether the operator has set a variable, or left it to the service. */
  isSet(variable: string): boolean {
    return isVariableSet(variable, this.environment);
  }

  /** What the operator has set a variable to. */
  variable(name: string): string | undefined {
    return variableOf(name, this.environment);
  }

  /** A master key given on the command line: a file, or `env:NAME`. @throws CliError invalid_configuration */
  readMasterKey(source: string): Buffer {
    try {
      return readMasterKeyFrom(source, this.environment);
    } catch (error) {
      throw new CliError('invalid_configuration', `The new key cannot be read: ${(error as Error).message}`);
    }
  }

  /**
   * Runs a command and shows its report. An unreachable database is an error at once.
   * @param create makes the embedded database where there is none. Without it, a command that lacks the service's variables would report
   *   of an empty one that nothing waits.
   */
  async run(command: (services: Services) => Promise<Report>, { create = false } = {}): Promise<void> {
    const silent = { log: () => undefined, waitSeconds: 0, create };
    await this.withServices(this.config({}, create), silent, async (services) =>
      this.output.result(await command(services)),
    );
  }

  /** Opens the database; its `stop` ends what this has started. @throws as `openDatabase`, and the reason of an interruption */
  open(config: AppConfig, options: OpenDatabaseOptions): Promise<OpenDatabase> {
    return openDatabase(config, { ...options, signal: this.interrupted });
  }

  /** Opens the database and the services, and closes both afterwards. */
  async withServices<T>(
    config: AppConfig,
    options: OpenDatabaseOptions,
    work: (services: Services, url: string) => Promise<T>,
  ): Promise<T> {
    const database = await this.open(config, options);
    try {
      // A doctor looks for itself.
      if (options.migrate !== false) await assertUsableSchema(database.url);
      const { createServices } = await import('./services.js');
      const services = await createServices(config, database.url);
      try {
        return await unlessAborted(work(services, database.url), this.interrupted);
      } finally {
        await this.closeServices(services);
      }
    } finally {
      await database.stop();
    }
  }

  /** Of an interrupted command a statement may still run: its connection then ends with the process. */
  private async closeServices(services: INestApplicationContext): Promise<void> {
    const closing = services.close();
    if (this.interrupted.aborted) await endsWithin(closing, CLOSING_MS);
    else await closing;
  }
}

/** @throws CliError unhealthy, with what to do */
export async function assertUsableSchema(url: string): Promise<SchemaState> {
  const schema = await readSchemaState(url);
  const { isUsable, sentence, pending } = schema;
  if (!isUsable) throw new CliError('unhealthy', `Nothing can be done: ${sentence}`, { pending });
  return schema;
}

/** Reads a whole number from 1 to `max`; for commander, which adds the name of the option to an error. */
export function numberUpTo(max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= 1 && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${max}.`);
  };
}

/** For arguments that are ids. */
export function parseId(text: string): string {
  if (!isUuid(text)) throw new InvalidArgumentError('It must be a UUID.');
  return text.toLowerCase();
}

/** For options that are `on` or `off`. */
export function parseSwitch(text: string): boolean {
  if (text !== 'on' && text !== 'off') throw new InvalidArgumentError('It must be on or off.');
  return text === 'on';
}
