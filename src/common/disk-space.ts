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
  /** What has been written since the last reading for what was taken in, and what is still to be written. */
  private writtenBytes = 0;
  private waitingBytes = 0;
  private reading: Promise<void> | undefined;

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
    setInterval(() => this.refresh(), EVERY_MS).unref();
  }

  get health(): DiskHealth {
    return { healthy: !this.isLow, ...(this.leastBytes !== undefined && { freeBytes: this.leastBytes }) };
  }

  /** To be called before anything is taken in. @throws UnavailableError with `Retry-After` */
  assertRoom(): void {
    this.require(0);
  }

  /**
   * Does what writes something that is taken in. At full speed hundreds of MB come between two readings, and as much waits for its
   * transaction, so both are counted; halfway to the reserve the file systems are read again.
   * @param bytes size of what is taken in
   * @throws UnavailableError with `Retry-After`, before `write` begins
   */
  async take<T>(bytes: number, write: () => Promise<T>): Promise<T> {
    const size = COPIES * bytes;
    this.require(size);
    this.waitingBytes += size;
    try {
      return await write();
    } finally {
      this.waitingBytes -= size;
      this.writtenBytes += size;
    }
  }

  private require(size: number): void {
    if (this.isLow) throw new DiskFullError();
    const taken = this.writtenBytes + this.waitingBytes + size;
    const room = this.options.reserveBytes > 0 ? (this.leastBytes ?? Infinity) - this.options.reserveBytes : Infinity;
    if (taken > room / 2) this.refresh();
    if (taken > room) throw new DiskFullError();
  }

  /** Begins after the reading that is under way. Never rejects: a file system that cannot be read changes nothing. */
  async read(): Promise<void> {
    // Of two that overlap, the second would subtract again what was written before the first.
    while (this.reading) await this.reading;
    this.reading = this.readOnce().finally(() => (this.reading = undefined));
    await this.reading;
  }

  private refresh(): void {
    if (!this.reading) void this.read();
  }

  private async readOnce(): Promise<void> {
    const { folders, reserveBytes } = this.options;
    const written = this.writtenBytes;
    const read = await Promise.all(folders.map((folder) => this.readFree(folder).catch(() => undefined)));
    const free = read.filter((bytes) => bytes !== undefined);
    if (free.length === 0) return;
    this.leastBytes = Math.min(...free);
    this.writtenBytes -= Math.min(written, this.writtenBytes);
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

/** Less than a Postgres needs to start, which writes a segment of its log. */
const NEARLY_FULL_BYTES = 16 * MIB;

/** For people: that a folder's disk has no room, which a program that cannot write its log does not say; undefined where it has. */
export async function describeFullDisk(folder: string, readFree = freeBytesOf): Promise<string | undefined> {
  const free = await readFree(folder).catch(() => Infinity);
  return free < NEARLY_FULL_BYTES
    ? `the disk of ${folder} is full (${Math.floor(free / MIB)} MiB are free)`
    : undefined;
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
