import { Injectable, Logger } from '@nestjs/common';
import { Client } from 'pg';
import { SECOND } from '../../common/clock';
import { DatabaseUrl } from '../../database/database.service';
import { WORK_CHANNEL } from '../queue/worker-waker.service';

const RECONNECT_MS = 5 * SECOND;

/**
 * Hears the notifications of accepting processes on a connection of its own. They are hints: `wait` ends after its time
 * limit anyway, so a dead connection costs latency, never mail.
 */
@Injectable()
export class WorkSignal {
  private readonly logger = new Logger(WorkSignal.name);
  private client: Client | undefined;
  private reconnect: NodeJS.Timeout | undefined;
  private pending = false;
  private wakeUp: (() => void) | undefined;
  private stopped = false;

  constructor(private readonly database: DatabaseUrl) {}

  start(): void {
    this.stopped = false;
    void this.connect();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.reconnect);
    this.notify();
    await this.client?.end().catch(() => undefined);
    this.client = undefined;
  }

  /** Says that there may be work. */
  notify(): void {
    this.pending = true;
    this.wakeUp?.();
  }

  /** Resolves at the next notification, at once if one came since the last wait, or after `timeoutMs`. */
  wait(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.wakeUp?.(), timeoutMs);
      this.wakeUp = () => {
        clearTimeout(timer);
        this.wakeUp = undefined;
        this.pending = false;
        resolve();
      };
      if (this.pending) this.wakeUp();
    });
  }

  private async connect(): Promise<void> {
    const client = new Client({
      connectionString: this.database.direct,
      application_name: 'waybill-listen',
      connectionTimeoutMillis: 2 * SECOND,
      keepAlive: true,
    });
    client.on('error', () => this.lose(client));
    client.on('end', () => this.lose(client));
    client.on('notification', () => this.notify());
    this.client = client;
    try {
      await client.connect();
      await client.query(`listen ${WORK_CHANNEL}`);
      this.notify();
    } catch (error) {
      this.logger.debug(`Notifications are not heard: ${(error as Error).message}`);
      this.lose(client);
    }
  }

  private lose(client: Client): void {
    if (this.client !== client) return;
    this.client = undefined;
    void client.end().catch(() => undefined);
    if (!this.stopped) this.reconnect = setTimeout(() => void this.connect(), RECONNECT_MS).unref();
  }
}
