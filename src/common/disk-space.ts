import { existsSync } from 'node:fs';
import { open, statfs } from 'node:fs/promises';
import path from 'node:path';
import { Logger } from '@nestjs/common';
import { SECOND } from './clock';
import { UnavailableError } from './errors/app-error';
import type { Metrics } from './metrics/metrics';

const EVERY_MS = 3 * SECOND;
const RETRY_AFTER_SECONDS = 30;
const MIB = 1024 * 1024;
/** What is taken in is written twice: to its table and to the WAL. */
const COPIES = 2;

export interface DiskSpaceOptions {
  /** Whose file systems are watched. Need not exist yet. */
  readonly folders: readonly string[];
  /** Less than this free: nothing more is taken in. 0: no limit. */
  readonly reserveBytes: number;
  /** Default: the free space for this user, from the operating system. */
  readonly freeBytes?: (folder: string) => Promise<number>;
}

export interface DiskHealth {
  readonly healthy: boolean;
  /** Of the fullest file system; absent when none is watched. */
  readonly freeBytes?: number;
}

/**
 * The room that is left for what this process writes. A Postgres whose disk is full stops in the middle of its work, so
 * new mail is refused while the reserve is in use; accepted mail is delivered, and has the reserve.
 *
 *   enough ──a file system below the reserve──► low ──all above it by a tenth again──► enough
 */
export class DiskSpace {
  private readonly logger = new Logger('Disk');
  private readonly readFree: (folder: string) => Promise<number>;
  private isLow = false;
  private leastBytes: number | undefined;
  /** What is written for what has been taken in since the last reading. */
  private takenBytes = 0;
  private isReading = false;

  constructor(private readonly options: DiskSpaceOptions) {
    this.readFree = options.freeBytes ?? freeBytesOf;
  }

  /** Reads at once and then every three seconds, until the process ends. */
  async watch(metrics: Metrics): Promise<void> {
    if (this.options.folders.length === 0) return;
    metrics.gauge({ name: 'disk_free_bytes', help: 'Free bytes of the fullest file system in use' }, () => {
      return this.leastBytes;
    });
    metrics.gauge({ name: 'disk_low', help: '1 while new mail is refused because a disk is nearly full' }, () =>
      this.isLow ? 1 : 0,
    );
    await this.read();
    setInterval(() => void this.read(), EVERY_MS).unref();
  }

  get health(): DiskHealth {
    return { healthy: !this.isLow, ...(this.leastBytes !== undefined && { freeBytes: this.leastBytes }) };
  }

  /**
   * To be called before anything is taken in. At full speed hundreds of MB come between two readings, so they are counted; halfway to
   * the reserve the file systems are read again.
   * @param bytes size of what is taken in, where it is known
   * @throws UnavailableError with `Retry-After`
   */
  assertRoom(bytes = 0): void {
    if (this.isLow) throw new DiskFullError();
    const taken = this.takenBytes + COPIES * bytes;
    const room = this.options.reserveBytes > 0 ? (this.leastBytes ?? Infinity) - this.options.reserveBytes : Infinity;
    if (taken > room / 2 && !this.isReading) void this.read();
    if (taken > room) throw new DiskFullError();
    this.takenBytes = taken;
  }

  /** Never rejects: a file system that cannot be read changes nothing. */
  async read(): Promise<void> {
    const { folders, reserveBytes } = this.options;
    const taken = this.takenBytes;
    this.isReading = true;
    const read = await Promise.all(folders.map((folder) => this.readFree(folder).catch(() => undefined)));
    this.isReading = false;
    const free = read.filter((bytes) => bytes !== undefined);
    if (free.length === 0) return;
    this.leastBytes = Math.min(...free);
    this.takenBytes -= Math.min(taken, this.takenBytes);
    const limit = this.isLow ? reserveBytes + reserveBytes / 10 : reserveBytes;
    const isLow = this.leastBytes < limit;
    if (isLow !== this.isLow) this.tell(isLow);
    this.isLow = isLow;
  }

  private tell(isLow: boolean): void {
    const free = `${Math.floor((this.leastBytes ?? 0) / MIB)} MiB are free in ${this.options.folders.join(' or ')}`;
    if (!isLow) return this.logger.log(`New mail is taken again: ${free}`);
    const reserve = Math.round(this.options.reserveBytes / MIB);
    this.logger.error(`New mail is refused until there is room: ${free}, less than DISK_RESERVE_MB (${reserve})`);
  }
}

/** 503 for a client; the operator's log and metrics name the disk. */
export class DiskFullError extends UnavailableError {
  constructor() {
    super('The service has no room for more at the moment', undefined, RETRY_AFTER_SECONDS);
  }
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(nearestExisting(folder));
  return bavail * bsize;
}

/** The folder, or the one in which it will be made. */
export function nearestExisting(folder: string): string {
  const parent = path.dirname(folder);
  return existsSync(folder) || parent === folder ? folder : nearestExisting(parent);
}

/** Makes the names of new files in a folder survive a loss of power: fsync of a file does not (fsync(2)). */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
