import { closeSync, ftruncateSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Injectable, Logger } from '@nestjs/common';
import { SECOND } from '../../common/clock';
import { newId } from '../../common/ids';
import { AppConfig } from '../../config/config';
import type { Settlement } from '../ports/outcome';

const FOLDER = 'journal';
const SUFFIX = '.jsonl';
/** A journal with nothing open is cut back to nothing when it is this long, */
const TRIM_BYTES = 1024 * 1024;
/** and after this time, as it holds recipients' addresses; a busy one is bounded by what is under way. */
const TRIM_MS = 5 * SECOND;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Acceptances that are not committed yet, on local disk.
 *
 * A 250 that was read but not committed when its process was killed would be lost, and the mail sent again. Each is
 * therefore written here first (a write into the page cache: it survives `kill -9`, not a power failure), and the next
 * worker on this data directory settles what it finds. That is safe whichever process wrote it: the note is true, and a claim that
 * has passed on is fenced off by its token. Without a writable directory the worker runs on, with that window open.
 */
@Injectable()
export class ResultJournal {
  private readonly logger = new Logger(ResultJournal.name);
  private readonly folder: string;
  private file: { readonly name: string; readonly descriptor: number } | undefined;
  private open = 0;
  private bytes = 0;
  private trimming: NodeJS.Timeout | undefined;

  constructor(config: AppConfig) {
    this.folder = join(config.dataDir, FOLDER);
  }

  /** Begins this process's journal; returns what earlier ones left, to be settled and then dropped with `discard`. */
  begin(): { readonly left: Settlement[]; readonly discard: () => void } {
    try {
      mkdirSync(this.folder, { recursive: true, mode: 0o700 });
      const files = readdirSync(this.folder).filter(isLeftBehind);
      const left = files.flatMap((name) => parseJournal(readFileSync(join(this.folder, name), 'utf8')));
      const name = join(this.folder, `${process.pid}.${newId()}${SUFFIX}`);
      this.file = { name, descriptor: openSync(name, 'a', 0o600) };
      return { left, discard: () => files.forEach((old) => rmSync(join(this.folder, old), { force: true })) };
    } catch (error) {
      this.logger.warn(`No journal of results can be kept: ${(error as Error).message}`);
      return { left: [], discard: () => undefined };
    }
  }

  /** Notes an acceptance before it is committed. */
  note(settlement: Settlement): void {
    this.open += 1;
    if (!this.file) return;
    try {
      this.bytes += writeSync(this.file.descriptor, `${JSON.stringify(settlement)}\n`);
    } catch (error) {
      this.logger.warn(`A result was not noted: ${(error as Error).message}`);
    }
  }

  /** A noted acceptance is committed. */
  settled(): void {
    this.open -= 1;
    if (this.bytes >= TRIM_BYTES) this.trim();
    else this.trimming ??= setTimeout(() => this.trim(), TRIM_MS).unref();
  }

  private trim(): void {
    clearTimeout(this.trimming);
    this.trimming = undefined;
    if (this.open > 0 || this.bytes === 0 || !this.file) return;
    ftruncateSync(this.file.descriptor, 0);
    this.bytes = 0;
  }

  /** Ends the journal; it is kept when something in it is not committed. */
  end(): void {
    clearTimeout(this.trimming);
    if (!this.file) return;
    closeSync(this.file.descriptor);
    if (this.open === 0) rmSync(this.file.name, { force: true });
    this.file = undefined;
  }
}

/** True for the journal of a process that has ended; that of a neighbour at work stays its own. */
function isLeftBehind(name: string): boolean {
  const writer = parseInt(name, 10);
  if (!name.endsWith(SUFFIX)) return false;
  if (Number.isNaN(writer) || writer === process.pid) return true;
  try {
    process.kill(writer, 0);
    return false;
  } catch (error) {
    // EPERM: it lives, under another user.
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
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
