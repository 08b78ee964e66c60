import { accessSync, constants, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { SECOND } from '../../common/clock';
import { Metrics } from '../../common/metrics/metrics';
import { AppConfig } from '../../config/config';
import type { Settlement } from '../ports/outcome';
import { prepareJournalFolder } from './journal-file';
import { readJournal } from './journal-reader';
import { type OpenLine, SessionJournal } from './session-journal';

const FOLDER = 'journal';
const SUFFIX = '.jsonl';
/** A file of the journal: the session's id, and a number from the second one on. */
const NAME = /^(.+)\.jsonl(?:\.\d+)?$/;
/** A journal with nothing open is emptied after this time, as it holds recipients' addresses; a busy one lets go of full files. */
const TRIM_MS = 5 * SECOND;
/** What is open for longer than this is written through to the disk: then the database is away, or slow. */
const SYNC_MS = SECOND;

/** A file of another session's journal, of this process or another one. */
export interface ForeignJournal {
  readonly name: string;
  /** From the file's name; not an id in a folder that other software writes to. */
  readonly sessionId: string;
  /** What it holds now, in parts. @throws the operating system's error: it must not be discarded */
  read(): AsyncIterable<Settlement[]>;
  /** Only when its session is over: its owner may still write to it. @throws the operating system's error */
  discard(): void;
}

/**
 * Acceptances that are not committed yet, on local disk.
 *
 * Without it, a 250 that was read but not committed when its process was killed is lost, and the mail sent again. So each is
 * written here first (a write into the page cache, which survives `kill -9`; what is still open after a second is on the disk,
 * and survives a power failure too), and another worker on this data directory settles what it finds. That is safe whichever
 * process wrote it: the acceptance happened, and a claim of another worker is fenced off by its token. A journal belongs to a
 * session: others may read it at any time, and remove it once the session's lease is over in the database (docs/adr/0021).
 * Without a writable directory, or on a full disk, the worker runs on without this protection, and logs that: a partly written
 * line is removed, so that it spoils no other one.
 */
@Injectable()
export class ResultJournal implements OnModuleInit {
  private readonly logger = new Logger(ResultJournal.name);
  private readonly folder: string;
  private readonly journals = new Map<string, SessionJournal>();
  private newest: string | undefined;
  private trimming: NodeJS.Timeout | undefined;
  private syncing: NodeJS.Timeout | undefined;
  private isBroken = false;

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
      this.reportUnusable(error as Error);
    }
  }

  /** Notes an acceptance before it is committed; the returned function is to be called when it is. */
  note(settlement: Settlement): () => void {
    const { sessionId } = settlement.claim;
    const journal = this.journalOf(sessionId);
    if (!journal) return () => undefined;
    const line = journal.begin();
    try {
      line.file.append(JSON.stringify(settlement));
      this.syncing ??= setTimeout(() => this.syncOld(), SYNC_MS).unref();
    } catch (error) {
      this.reportFailure(error as NodeJS.ErrnoException);
    }
    return () => this.settled(sessionId, journal, line);
  }

  /** The journals of other sessions, which may have ended with something uncommitted. */
  foreign(): ForeignJournal[] {
    return this.names().flatMap((name) => {
      const sessionId = NAME.exec(name)?.[1];
      if (sessionId === undefined || this.journals.has(sessionId)) return [];
      const path = join(this.folder, name);
      return [{ name, sessionId, read: () => readJournal(path), discard: () => rmSync(path, { force: true }) }];
    });
  }

  /** Ends the journal; what is not committed is kept. */
  end(): void {
    clearTimeout(this.trimming);
    clearTimeout(this.syncing);
    for (const sessionId of this.journals.keys()) this.close(sessionId);
  }

  private settled(sessionId: string, journal: SessionJournal, line: OpenLine): void {
    // Ended meanwhile: its files are closed.
    if (this.journals.get(sessionId) !== journal) return;
    this.attempt(() => journal.settled(line));
    this.trimming ??= setTimeout(() => this.trimAll(), TRIM_MS).unref();
  }

  private trimAll(): void {
    this.trimming = undefined;
    for (const [sessionId, journal] of this.journals) {
      if (sessionId === this.newest) this.attempt(() => journal.trim());
      else if (!journal.hasOpen) this.close(sessionId);
    }
  }

  /** Under an even load nothing is open for so long. */
  private syncOld(): void {
    this.syncing = undefined;
    for (const file of [...this.journals.values()].flatMap(({ files }) => files)) {
      file.syncOld().catch((error: NodeJS.ErrnoException) => this.reportFailure(error));
      if (file.hasOpen) this.syncing ??= setTimeout(() => this.syncOld(), SYNC_MS).unref();
    }
  }

  /** The mail counts as delivered all the same, once that is committed. */
  private reportFailure({ code, message }: NodeJS.ErrnoException): void {
    // The folder is gone too: there is nothing left to keep.
    if (code === 'ENOENT') return;
    this.failures.inc();
    const reason = code === 'ENOSPC' ? `the disk of ${this.folder} is full` : message;
    this.logger.error(`A result was not noted, and its mail is sent again if this process is killed now: ${reason}`);
  }

  private journalOf(sessionId: string): SessionJournal | undefined {
    const known = this.journals.get(sessionId);
    if (known) return known;
    try {
      if (this.journals.size === 0) prepareJournalFolder(this.folder, this.paths());
      const journal = new SessionJournal(join(this.folder, `${sessionId}${SUFFIX}`));
      this.journals.set(sessionId, journal);
      this.isBroken = false;
      // Ids of sessions grow; a late reply to an earlier one does not make that the newest again.
      if (this.newest === undefined || sessionId > this.newest) this.newest = sessionId;
      return journal;
    } catch (error) {
      this.failures.inc();
      this.reportUnusable(error as Error);
      return undefined;
    }
  }

  private reportUnusable({ message }: Error): void {
    if (!this.isBroken) this.logger.warn(`No journal of results can be kept in ${this.folder}: ${message}`);
    this.isBroken = true;
  }

  private close(sessionId: string): void {
    const files = this.journals.get(sessionId)?.files ?? [];
    this.journals.delete(sessionId);
    for (const file of files) this.attempt(() => file.close());
  }

  private attempt(change: () => void): void {
    try {
      change();
    } catch (error) {
      this.reportFailure(error as NodeJS.ErrnoException);
    }
  }

  private paths(): string[] {
    const journals = this.names().filter((name) => NAME.test(name));
    return journals.map((name) => join(this.folder, name));
  }

  private names(): string[] {
    try {
      return readdirSync(this.folder);
    } catch (error) {
      // Else nothing was ever noted here.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.reportUnusable(error as Error);
      return [];
    }
  }
}
