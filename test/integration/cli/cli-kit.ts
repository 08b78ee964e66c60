import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Output } from '../../../src/cli/session/output';
import { runCli } from '../../../src/cli/run-cli';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';

export interface CliResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** Runs one command line in this process. */
export async function runWith(environment: NodeJS.ProcessEnv, args: readonly string[]): Promise<CliResult> {
  const result = { exitCode: 0, stdout: '', stderr: '' };
  const createOutput = (json: boolean): Output =>
    new Output(json, { write: (text) => (result.stdout += text) }, { write: (text) => (result.stderr += text) });
  result.exitCode = await runCli(args, createOutput, { environment });
  return result;
}

/** The command line on a database of its own. */
export class CliKit {
  private readonly ownRun = new AsyncLocalStorage<true>();
  private closeServices: () => Promise<void> = () => Promise.resolve();

  private constructor(
    readonly environment: NodeJS.ProcessEnv,
    private readonly database: TestDatabase,
    private readonly dataDir: string,
  ) {}

  static async create(): Promise<CliKit> {
    const database = await createTestDatabase();
    const dataDir = await mkdtemp(path.join(os.tmpdir(), 'waybill-cli-'));
    const environment = {
      DATABASE_URL: database.url,
      MASTER_KEY: randomBytes(32).toString('base64'),
      WAYBILL_DATA_DIR: dataDir,
    };
    return new CliKit(environment, database, dataDir);
  }

  /**
   * As `create`; its commands find the services of the first one, which take most of a command's time to make. For commands that only
   * call them: each is still parsed, opens the database, and checks the schema.
   */
  static async createWarm(): Promise<CliKit> {
    const kit = await CliKit.create();
    kit.shareServices();
    return kit;
  }

  get url(): string {
    return this.database.url;
  }

  run(...args: string[]): Promise<CliResult> {
    return this.ownRun.run(true, () => runWith(this.environment, args));
  }

  /** Runs with `--json`, expects success and nothing but one JSON line, and returns its value. */
  async json<T = any>(...args: string[]): Promise<T> {
    const { exitCode, stdout, stderr } = await this.run(...args, '--json');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^[^\n]+\n$/);
    return JSON.parse(stdout) as T;
  }

  /** Runs with `--json`, expects failure and nothing but one JSON line on standard error, and returns the error. */
  async failure(...args: string[]): Promise<{ code: string; message: string; details?: any }> {
    const { exitCode, stdout, stderr } = await this.run(...args, '--json');
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^[^\n]+\n$/);
    return (JSON.parse(stderr) as { error: { code: string; message: string } }).error;
  }

  async destroy(): Promise<void> {
    await this.closeServices();
    await this.database.drop();
    await rm(this.dataDir, { recursive: true, force: true });
  }

  private shareServices(): void {
    const createContext = NestFactory.createApplicationContext.bind(NestFactory);
    let shared: Promise<INestApplicationContext> | undefined;
    const spy = jest.spyOn(NestFactory, 'createApplicationContext').mockImplementation(async (...args) => {
      // `runWith` has an environment of its own.
      if (this.ownRun.getStore() === undefined) return createContext(...args);
      shared ??= createContext(...args);
      return Object.create(await shared, { close: { value: () => Promise.resolve() } }) as INestApplicationContext;
    });
    this.closeServices = async () => {
      spy.mockRestore();
      await (await shared)?.close();
    };
  }
}
