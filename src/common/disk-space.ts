import { existsSync } from 'node:fs';
import { open, statfs } from 'node:fs/promises';
import path from 'node:path';
import { Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Counter } from 'prom-client';
import { atMost } from './bounded-cache';
import { DAY, MINUTE, SECOND } from './clock';
import { AppError, UnavailableError } from './errors/app-error';
import type { Metrics } from './metrics/metrics';

const EVERY_MS = 3 * SECOND;
const RETRY_AFTER_SECONDS = 30;
const MIB = 1024 * 1024;
/** What is taken in is written twice: to its table and to the WAL. */
const COPIES = 2;
/** With less free than this many reserves, an organization may take in no more than it leaves to the others. */
const SHARED_RESERVES = 8;
/** Of what an organization has taken in, half counts after this time. */
const HALF_LIFE_MS = DAY;
const MAX_HOLDERS = 10_000;

export interface DiskSpaceOptions {
  /** Whose file systems are watched. Need not exist yet. */
  readonly folders: readonly string[];
  /** Less than this free: nothing more is taken in. 0: no limit. */
  readonly reserveBytes: number;
  /** Whether this process takes mail in; one that does not logs what the lack of room means for it. Default: it does. */
  readonly takesMail?: boolean;
  /** Default: the free space for this user, from the operating system. */
  readonly freeBytes?: (folder: string) => Promise<number>;
  /** Milliseconds on a clock that never goes back. */
  readonly monotonicMs?: () => number;
}

/** Something that is to be written. */
export interface Intake {
  readonly bytes: number;
  /** The organization whose data it is; absent where other limits apply. */
  readonly holder?: string;
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
 *
 * With less than eight reserves free, an organization is refused once it has taken in more, lately and in this process, than the
 * room above the reserve: the one that fills the disk is stopped first, and leaves the others at least half of that room, or one
 * part in n + 1 where n processes count for themselves.
 */
export class DiskSpace {
  private readonly logger = new Logger('Disk');
  private readonly readFree: (folder: string) => Promise<number>;
  private readonly nowMs: () => number;
  private isLow = false;
  private leastBytes: number | undefined;
  /** What has been written since the last reading for what was taken in, and what is still to be written. */
  private writtenBytes = 0;
  private waitingBytes = 0;
  private reading: Promise<void> | undefined;
  private readonly taken: RecentBytes;
  private shareRefusals: Counter | undefined;
  private toldShareAtMs = -Infinity;

  constructor(private readonly options: DiskSpaceOptions) {
    this.readFree = options.freeBytes ?? freeBytesOf;
    this.nowMs = options.monotonicMs ?? (() => performance.now());
    this.taken = new RecentBytes(this.nowMs);
  }

  /** Reads at once and then every three seconds, until the process ends. */
  async watch(metrics: Metrics): Promise<void> {
    if (this.options.folders.length === 0) return;
    metrics.gauge({ name: 'disk_free_bytes', help: 'Free bytes of the fullest file system in use' }, () => {
      return this.leastBytes;
    });
    metrics.gauge(
      { name: 'disk_low', help: '1 while a disk is nearly full; a process that takes mail in refuses it then' },
      () => (this.isLow ? 1 : 0),
    );
    const help = 'What was refused because its organization has stored more lately than is left on a disk';
    this.shareRefusals = metrics.counter({ name: 'disk_share_refusals_total', help });
    await this.read();
    setInterval(() => this.refresh(), EVERY_MS).unref();
  }

  get health(): DiskHealth {
    return { healthy: !this.isLow, ...(this.leastBytes !== undefined && { freeBytes: this.leastBytes }) };
  }

  /**
   * To be called before anything is taken in.
   * @param holder as of `Intake`
   * @throws UnavailableError, AppError rate_limit_exceeded, with `Retry-After`
   */
  assertRoom(holder?: string): void {
    this.require(0, holder);
  }

  /**
   * Does what writes something that is taken in. At full speed hundreds of MB come between two readings, and as much waits for its
   * transaction, so both are counted; halfway to the reserve the file systems are read again.
   * @throws UnavailableError, AppError rate_limit_exceeded, with `Retry-After`, before `write` begins
   */
  async take<T>({ bytes, holder }: Intake, write: () => Promise<T>): Promise<T> {
    const size = COPIES * bytes;
    this.require(size, holder);
    this.waitingBytes += size;
    if (holder !== undefined) this.taken.add(holder, size);
    try {
      return await write();
    } catch (error) {
      if (holder !== undefined) this.taken.add(holder, -size);
      throw error;
    } finally {
      this.waitingBytes -= size;
      this.writtenBytes += size;
    }
  }

  private require(size: number, holder: string | undefined): void {
    if (this.isLow) throw new DiskFullError();
    const { reserveBytes } = this.options;
    if (reserveBytes === 0) return;
    const room = (this.leastBytes ?? Infinity) - reserveBytes;
    const unread = this.writtenBytes + this.waitingBytes + size;
    if (unread > room / 2) this.refresh();
    const left = room - unread;
    if (left < 0) throw new DiskFullError();
    if (holder === undefined || left + reserveBytes >= SHARED_RESERVES * reserveBytes) return;
    if (this.taken.of(holder) + size > left) throw this.shareRefusal(holder, left);
  }

  private shareRefusal(holder: string, left: number): DiskShareError {
    this.shareRefusals?.inc();
    const nowMs = this.nowMs();
    if (nowMs - this.toldShareAtMs >= MINUTE) {
      this.toldShareAtMs = nowMs;
      const [own, room] = [this.taken.of(holder), left].map((bytes) => Math.round(bytes / MIB));
      this.logger.error(
        `Organization ${holder} is refused: it has written ${own} MiB lately, and ${room} MiB are left above DISK_RESERVE_MB`,
      );
    }
    return new DiskShareError();
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
    if (isLow !== this.isLow) this.logState(isLow);
    this.isLow = isLow;
  }

  private logState(isLow: boolean): void {
    const { folders, reserveBytes, takesMail = true } = this.options;
    const free = `${Math.floor((this.leastBytes ?? 0) / MIB)} MiB are free in ${folders.join(' or ')}`;
    if (!isLow) return this.logger.log(`${takesMail ? 'New mail is taken again' : 'There is room again'}: ${free}`);
    const effect = takesMail
      ? 'New mail is refused until there is room'
      : 'A full disk would keep no results of deliveries while the database is away';
    this.logger.error(`${effect}: ${free}, less than DISK_RESERVE_MB (${Math.round(reserveBytes / MIB)})`);
  }
}

/** 503 for a client; the operator's log and metrics name the disk. */
export class DiskFullError extends UnavailableError {
  constructor() {
    super('The service has no room for more at the moment', undefined, RETRY_AFTER_SECONDS);
  }
}

/** 429: others still have room. */
export class DiskShareError extends AppError {
  constructor() {
    super('rate_limit_exceeded', 'The disk is nearly full, and this organization has stored more lately than is left', {
      retryAfterSeconds: MINUTE / SECOND,
      suggestion: 'Ask the operator for more room, or send less until there is some',
    });
  }
}

/** Bytes by holder, which count less the longer ago they came. */
class RecentBytes {
  private readonly entries = new LRUCache<string, { readonly bytes: number; readonly atMs: number }>(
    atMost(MAX_HOLDERS),
  );

  constructor(private readonly nowMs: () => number) {}

  of(holder: string): number {
    const entry = this.entries.get(holder);
    return entry ? entry.bytes * 2 ** ((entry.atMs - this.nowMs()) / HALF_LIFE_MS) : 0;
  }

  add(holder: string, bytes: number): void {
    this.entries.set(holder, { bytes: this.of(holder) + bytes, atMs: this.nowMs() });
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
