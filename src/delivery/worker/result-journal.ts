import { accessSync, constants, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { SECOND } from '../../common/clock';
import { Metrics } from '../../common/metrics/metrics';
import { AppConfig } from '../../config/config';
import type { Settlement } from '../ports/outcome';
import { JournalFile, prepareJournalFolder } from './journal-file';

const FOLDER = 'journal';
const SUFFIX = '.jsonl';
/** A journal with nothing open is cut back to nothing when it is this long, */
const TRIM_BYTES = 1024 * 1024;
/** and after this time, as it holds recipients' addresses; a busy one is bounded by what is under way. */
const TRIM_MS = 5 * SECOND;
/** What is open for longer than this is written through to the disk: then the database is away, or slow. */
const SYNC_MS = SECOND;
/** Failures closer together than this are logged once. */
const QUIET_MS = 30 * SECOND;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** A journal of another session, of this process or another one. */
export interface ForeignJournal {
  /** From the file's name; not an id in a folder that other software writes to. */
  readonly sessionId: string;
  /** What it holds now. */
  read(): Settlement[];
  /** Only when its session is over: its owner may still write to it. */
  discard(): void;
}

/**
 * Acceptances that are not committed yet, on local disk.
 *
 * Without it, a 250 that was read but not committed when its process was killed is lost, and the mail sent again. So each is
 * written here first (a write into the page cache, which survives `kill -9`; what is still open after a second is on the disk,
 * and survives a power failure too), and another worker on this data directory settles what it finds. That is safe whichever
 * process wrote it: the acceptance happened, and a claim of another worker is fenced off by its token. A file belongs to a
 * session: others may read it at any time, and remove it once the session's lease is over in the database (docs/adr/0021).
 * Without a writable directory, or on a full disk, the worker runs on without this protection, and logs that: a partly written
 * line is removed, so that it spoils no other one.
 */
@Injectable()
export class ResultJournal implements OnModuleInit {
  private readonly logger = new Logger(ResultJournal.name);
  private readonly folder: string;
  private readonly files = new Map<string, JournalFile>();
  private newest: string | undefined;
  private trimming: NodeJS.Timeout | undefined;
  private syncing: NodeJS.Timeout | undefined;
  private isBroken = false;
  private toldAt = -Infinity;

  private readonly failures;

  constructor(config: AppConfig, metrics: Metrics) {
    this.folder = join(config.dataDir, FOLDER);
    const help = 'Results that could not be noted on disk before their commit';
    this.failures = metrics.counter({ name: 'journal_failures_total', help });
  }

  /** Logs at the start already that nothing can be noted: the first result may be hours away. */
  onModuleInit(): void {
    try {
      prepareJournalFolder(this.folder, this.paths());
      accessSync(this.folder, constants.W_OK);
    } catch (error) {
      this.tellUnusable(error as Error);
    }
  }

  /** Notes an acceptance before it is committed; the returned function is to be called when it is. */
  note(settlement: Settlement): () => void {
    const { sessionId } = settlement.claim;
    const file = this.fileOf(sessionId);
    if (!file) return () => undefined;
    const line = file.begin();
    try {
      file.append(JSON.stringify(settlement));
      this.syncing ??= setTimeout(() => this.syncOld(), SYNC_MS).unref();
    } catch (error) {
      this.tell(error as NodeJS.ErrnoException);
    }
    return () => this.settled(sessionId, file, line);
  }

  /** The journals of other sessions, which may have ended with something uncommitted. */
  foreign(): ForeignJournal[] {
    return this.names().flatMap((name) => {
      const sessionId = name.slice(0, -SUFFIX.length);
      if (!name.endsWith(SUFFIX) || this.files.has(sessionId)) return [];
      const path = join(this.folder, name);
      return [{ sessionId, read: () => this.readFile(path), discard: () => rmSync(path, { force: true }) }];
    });
  }

  /** Ends the journal; what is not committed is kept. */
  end(): void {
    clearTimeout(this.trimming);
    clearTimeout(this.syncing);
    for (const sessionId of this.files.keys()) this.close(sessionId);
  }

  private settled(sessionId: string, file: JournalFile, line: number): void {
    file.settled(line);
    if (this.files.get(sessionId) !== file) return;
    if (file.length >= TRIM_BYTES) this.trim(sessionId, file);
    else this.trimming ??= setTimeout(() => this.trimAll(), TRIM_MS).unref();
  }

  private trimAll(): void {
    this.trimming = undefined;
    for (const [sessionId, file] of this.files) this.trim(sessionId, file);
  }

  private trim(sessionId: string, file: JournalFile): void {
    if (file.hasOpen) return;
    if (sessionId !== this.newest) return this.close(sessionId);
    file.empty();
  }

  /** Under an even load nothing is open for so long. */
  private syncOld(): void {
    this.syncing = undefined;
    for (const file of this.files.values()) {
      file.syncOld().catch((error: NodeJS.ErrnoException) => this.tell(error));
      if (file.hasOpen) this.syncing ??= setTimeout(() => this.syncOld(), SYNC_MS).unref();
    }
  }

  /** The mail counts as delivered all the same, once that is committed. */
  private tell({ code, message }: NodeJS.ErrnoException): void {
    // The folder is gone too: there is nothing left to keep.
    if (code === 'ENOENT') return;
    this.failures.inc();
    if (performance.now() - this.toldAt < QUIET_MS) return;
    this.toldAt = performance.now();
    const reason = code === 'ENOSPC' ? `the disk of ${this.folder} is full` : message;
    this.logger.error(`A result was not noted, and its mail is sent again if this process is killed now: ${reason}`);
  }

  private fileOf(sessionId: string): JournalFile | undefined {
    const known = this.files.get(sessionId);
    if (known) return known;
    try {
      if (this.files.size === 0) prepareJournalFolder(this.folder, this.paths());
      const file = new JournalFile(join(this.folder, `${sessionId}${SUFFIX}`));
      this.files.set(sessionId, file);
      this.isBroken = false;
      // Ids of sessions grow; a late reply to an earlier one does not make that the newest again.
      if (this.newest === undefined || sessionId > this.newest) this.newest = sessionId;
      return file;
    } catch (error) {
      this.failures.inc();
      this.tellUnusable(error as Error);
      return undefined;
    }
  }

  private tellUnusable({ message }: Error): void {
    if (!this.isBroken) this.logger.warn(`No journal of results can be kept in ${this.folder}: ${message}`);
    this.isBroken = true;
  }

  private close(sessionId: string): void {
    const file = this.files.get(sessionId);
    this.files.delete(sessionId);
    try {
      file?.close();
    } catch (error) {
      this.tell(error as NodeJS.ErrnoException);
    }
  }

  private paths(): string[] {
    const journals = this.names().filter((name) => name.endsWith(SUFFIX));
    return journals.map((name) => join(this.folder, name));
  }

  private names(): string[] {
    try {
      return readdirSync(this.folder);
    } catch {
      // Nothing was ever noted here.
      return [];
    }
  }

  private readFile(path: string): Settlement[] {
    try {
      return parseJournal(readFileSync(path, 'utf8'));
    } catch (error) {
      // Another process was faster, or it belongs to another user.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        this.logger.warn(`A journal is not read: ${String(error)}`);
      }
      return [];
    }
  }
}

/** A line cut off by the process's end is left out. */
export function parseJournal(text: string): Settlement[] {
  return text.split('\n').flatMap((line) => {
    try {
      return line === '' ? [] : [JSON.parse(line, reviveTimes) as Settlement];
    } catch {
      return [];
    }
  });
}

function reviveTimes(name: string, value: unknown): unknown {
  return typeof value === 'string' && name.endsWith('At') && TIMESTAMP.test(value) ? new Date(value) : value;
}
