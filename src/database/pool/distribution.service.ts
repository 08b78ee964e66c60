import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { MINUTE } from '../../common/clock';
import { Database } from './database.service';

/** A process that was not stopped while the tables were distributed continues after that. */
const EVERY_MS = MINUTE / 4;

const IS_DISTRIBUTED = `select is_distributed('emails') as "isDistributed"`;

/** Finds out whether the large tables are distributed, at the start and from time to time. */
@Injectable()
export class Distribution implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(Distribution.name);
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;

  constructor(private readonly database: Database) {}

  async onModuleInit(): Promise<void> {
    await this.read();
    this.timer = setInterval(() => void this.read(), EVERY_MS).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }

  /** Never rejects: without a database nothing is written anyway. */
  private read(): Promise<void> {
    this.running ??= this.readOnce()
      .catch((error: Error) => this.logger.debug(`Whether the tables are distributed is not known: ${error.message}`))
      .finally(() => (this.running = undefined));
    return this.running;
  }

  private async readOnce(): Promise<void> {
    const statement = { name: 'read-distribution', text: IS_DISTRIBUTED, values: [] };
    const [row] = await this.database.run<{ isDistributed: boolean }>(statement);
    this.database.isDistributed = row?.isDistributed ?? false;
  }
}
