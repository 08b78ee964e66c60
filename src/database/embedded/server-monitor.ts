import { copyFile, stat, truncate } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { MINUTE, SECOND } from '../../common/clock';
import { clusterPaths } from './cluster-location';

/** Of an overloaded server too: commands open it, and are needed most then. */
const CONNECT_TIMEOUT_MS = 15 * SECOND;
const FIRST_PAUSE_MS = SECOND / 4;
const LONGEST_PAUSE_MS = 30 * SECOND;
const LOG_LIMIT_BYTES = 10 * 1024 * 1024;
const LIMIT_LOG_MS = 10 * MINUTE;

export interface Restart {
  /** Makes sure that the server runs, at the same address. */
  readonly start: () => Promise<unknown>;
  readonly log: (message: string) => void;
  /** Receives what somebody should look at: nothing works while the server is away. */
  readonly warn: (message: string) => void;
}

/**
 * An open, idle connection: proof that the server runs, and the sign for other processes that it is in use. With `restart` it
 * also notices when the server dies, and starts it again with growing pauses until that works or `end` is called.
 */
export class ServerMonitor {
  private readonly ending = new AbortController();
  private restarting: Promise<void> | undefined;

  private constructor(
    private readonly url: string,
    private readonly restart: Restart | undefined,
    private client: Client,
  ) {
    this.watch(client);
  }

  static async open(url: string, restart?: Restart): Promise<ServerMonitor> {
    return new ServerMonitor(url, restart, await connectOnce(url));
  }

  async end(): Promise<void> {
    this.ending.abort();
    await this.restarting;
    await this.client.end();
  }

  private watch(client: Client): void {
    client.once('end', () => {
      if (this.restart && !this.ending.signal.aborted) this.restarting = this.restartServer(this.restart);
    });
  }

  private async restartServer({ start, log, warn }: Restart): Promise<void> {
    const { signal } = this.ending;
    warn('the embedded Postgres is gone: starting it again');
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        await start();
        this.client = await connectOnce(this.url);
        this.watch(this.client);
        log('the embedded Postgres is back');
        return;
      } catch (error) {
        warn(`the embedded Postgres did not start again, next attempt in ${pauseMs} ms: ${(error as Error).message}`);
        await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }
}

/** A connection that is not made again. */
export async function connectOnce(url: string): Promise<Client> {
  const client = new Client({
    connectionString: url,
    application_name: 'waybill-keeper',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  });
  // An idle connection that breaks must not end the process.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/**
 * Keeps the log of a server that runs small, until the timer is cleared: it is written for as long as the server runs, which may be years.
 *
 * @param folder of the cluster
 */
export function limitLogRegularly(folder: string): NodeJS.Timeout {
  return setInterval(() => void limitLog(clusterPaths(folder).log), LIMIT_LOG_MS).unref();
}

/**
 * Empties a log of more than 10 MiB after copying it beside itself as `….1`. The server appends to the file that it has open, which
 * therefore stays; a line written in between is lost.
 */
export async function limitLog(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (!found || found.size <= LOG_LIMIT_BYTES) return;
  // On a full disk without a copy.
  await copyFile(file, `${file}.1`).catch(() => undefined);
  await truncate(file).catch(() => undefined);
}
