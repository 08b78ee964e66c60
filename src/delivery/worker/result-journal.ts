import { closeSync, ftruncateSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Injectable, Logger } from '@nestjs/common';
import { SECOND } from '../../common/clock';
import { AppConfig } from '../../config/config';
import type { Settlement } from '../ports/outcome';

const FOLDER = 'journal';
const SUFFIX = '.jsonl';
/** A journal with nothing open is cut back to nothing when it is this long, */
const TRIM_BYTES = 1024 * 1024;
/** and after this time, as it holds recipients' addresses; a busy one is bounded by what is under way. */
const TRIM_MS = 5 * SECOND;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** The file of one session of this process. */
interface OwnFile {
  readonly path: string;
  readonly descriptor: number;
  /** Notes that are not committed. */
  open: number;
  bytes: number;
}

/** A journal of another session, of this process or another one. */
export interface ForeignJournal {
  /** As its name says; not an id at all in a folder that something else writes to. */
  readonly sessionId: string;
  /** What it holds now. */
  read(): Settlement[];
  /** Only when its session is over: its owner may still write to it. */
  discard(): void;
}

/**
 * Acceptances that are not committed yet, on local disk.
 *
 * A 250 that was read but not committed when its process was killed would be lost, and the mail sent again. Each is
 * therefore written here first (a write into the page cache: it survives `kill -9`, not a power failure), and another worker on
 * this data directory settles what it finds. That is safe whichever process wrote it: the note is true, and a claim that
 * has passed on is fenced off by its token. A file belongs to a session: others may read it at any time, and remove it once the
 * session's lease is over in the database (docs/adr/0021). Without a writable directory the worker runs on, with
 * that window open.
 */
@Injectable()
export class ResultJournal {
  private readonly logger = new Logger(ResultJournal.name);
  private readonly folder: string;
  private readonly files = new Map<string, OwnFile>();
  private newest: string | undefined;
  private trimming: NodeJS.Timeout | undefined;
  private isBroken = false;

  constructor(config: AppConfig) {
    this.folder = join(config.dataDir, FOLDER);
  }

  /** Notes an acceptance before it is committed; the returned function is to be called when it is. */
  note(settlement: Settlement): () => void {
    const { sessionId } = settlement.claim;
    const file = this.fileOf(sessionId);
    if (!file) return () => undefined;
    file.open += 1;
    try {
      file.bytes += writeSync(file.descriptor, `${JSON.stringify(settlement)}\n`);
    } catch (error) {
      this.logger.warn(`A result was not noted: ${(error as Error).message}`);
    }
    return () => this.settled(sessionId, file);
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
    for (const sessionId of this.files.keys()) this.close(sessionId);
  }

  private settled(sessionId: string, file: OwnFile): void {
    file.open -= 1;
    if (this.files.get(sessionId) !== file) return;
    if (file.bytes >= TRIM_BYTES) this.trim(sessionId, file);
    else this.trimming ??= setTimeout(() => this.trimAll(), TRIM_MS).unref();
  }

  private trimAll(): void {
    this.trimming = undefined;
    for (const [sessionId, file] of this.files) this.trim(sessionId, file);
  }

  private trim(sessionId: string, file: OwnFile): void {
    if (file.open > 0) return;
    if (sessionId !== this.newest) return this.close(sessionId);
    if (file.bytes > 0) ftruncateSync(file.descriptor, 0);
    file.bytes = 0;
  }

  private fileOf(sessionId: string): OwnFile | undefined {
    const known = this.files.get(sessionId);
    if (known) return known;
    try {
      mkdirSync(this.folder, { recursive: true, mode: 0o700 });
      const path = join(this.folder, `${sessionId}${SUFFIX}`);
      const file = { path, descriptor: openSync(path, 'a', 0o600), open: 0, bytes: 0 };
      this.files.set(sessionId, file);
      // Ids of sessions grow; a late reply to an earlier one does not make that the newest again.
      if (this.newest === undefined || sessionId > this.newest) this.newest = sessionId;
      return file;
    } catch (error) {
      if (!this.isBroken) this.logger.warn(`No journal of results can be kept: ${(error as Error).message}`);
      this.isBroken = true;
      return undefined;
    }
  }

  private close(sessionId: string): void {
    const file = this.files.get(sessionId);
    if (!file) return;
    this.files.delete(sessionId);
    closeSync(file.descriptor);
    if (file.open === 0) rmSync(file.path, { force: true });
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
