import { Injectable } from '@nestjs/common';
import { EVENT_LOOP } from '../../common/async/fair-turns';
import { AppError } from '../../common/errors/app-error';
import { parseAddress } from '../../common/mail-address';
import type { Tenant } from '../../common/tenant';
import { cutText } from '../../common/values';
import { type FormLine, readForm, type SuppressionForm } from './suppression-forms';
import { isOwnReason, type SuppressionReason } from './suppression';
import { type NewEntry, SuppressionListService } from './suppression-list.service';

const MIB = 1024 * 1024;
/** Bytes of the file in UTF-8. */
export const MAX_IMPORT_BYTES = 10 * MIB;
const MAX_IMPORT_LINES = 200_000;
/** Entries that one transaction adds. */
const BATCH = 1_000;
/** UTF-16 code units that are read before yielding to the event loop, a few milliseconds, and the weight of a line in addition. */
const TURN = 256 * 1024;
const LINE = 256;
const MAX_REFUSED = 100;
const SHOWN_ADDRESS = 254;

/** A line that is not a valid entry. */
export interface RefusedLine {
  /** From 1. */
  readonly line: number;
  readonly email?: string;
  readonly error: string;
}

export interface ImportReport {
  /** Lines that hold an entry, valid or not. */
  readonly total: number;
  readonly added: number;
  /** Entries on the list already, or earlier in the file. */
  readonly duplicates: number;
  readonly invalid: number;
  /** The first 100 invalid lines. */
  readonly refused: readonly RefusedLine[];
}

interface Wanted {
  readonly owner: Tenant;
  readonly form: SuppressionForm;
  readonly csv: string;
  readonly actor: string;
  /** Bounces and complaints keep their reason, which only the operator can remove; otherwise they become `manual`. */
  readonly keepReasons: boolean;
}

/** Imports the suppression lists of other services. */
@Injectable()
export class SuppressionImportService {
  constructor(private readonly lists: SuppressionListService) {}

  /**
   * Adds the entries of a CSV file, 1,000 per transaction. An interrupted import can be repeated: the entries that it has added
   * then count as duplicates.
   * @throws AppError payload_too_large
   */
  async import(wanted: Wanted): Promise<ImportReport> {
    requireFitting(wanted.csv);
    const run = new ImportRun(this.lists, wanted);
    let [left, end] = [TURN, 0];
    for (const line of readForm(wanted.form, wanted.csv)) {
      run.take(line);
      left -= line.end - end + LINE;
      end = line.end;
      if (run.isFull) await run.flush();
      else if (left > 0) continue;
      await EVENT_LOOP.next(wanted.owner.organizationId);
      left = TURN;
    }
    await run.flush();
    return run.report();
  }
}

class ImportRun {
  private batch: NewEntry[] = [];
  private readonly refused: RefusedLine[] = [];
  private readonly counted = { total: 0, added: 0, duplicates: 0, invalid: 0 };

  constructor(
    private readonly lists: SuppressionListService,
    private readonly wanted: Wanted,
  ) {}

  get isFull(): boolean {
    return this.batch.length >= BATCH;
  }

  /** @throws AppError payload_too_large */
  take({ line, entry }: FormLine): void {
    if (!entry) return;
    this.counted.total += 1;
    if (this.counted.total > MAX_IMPORT_LINES) throw tooMany();
    if ('fault' in entry) return this.refuse({ line, error: entry.fault });
    const address = parseAddress(entry.email);
    const email = cutText(entry.email, SHOWN_ADDRESS);
    if (!address.ok) return this.refuse({ line, email, error: `The address ${address.message}` });
    if (/^\*+@/.test(email)) {
      return this.refuse({ line, email, error: 'The address is a pattern, which matches no one' });
    }
    this.batch.push(newEntry(address.email, entry, this.wanted.keepReasons));
  }

  async flush(): Promise<void> {
    if (this.batch.length === 0) return;
    const { owner, actor } = this.wanted;
    const results = await this.lists.addMany(owner, this.batch, actor);
    const duplicates = results.filter((result) => result instanceof AppError).length;
    this.counted.duplicates += duplicates;
    this.counted.added += results.length - duplicates;
    this.batch = [];
  }

  report(): ImportReport {
    return { ...this.counted, refused: this.refused };
  }

  private refuse(line: RefusedLine): void {
    this.counted.invalid += 1;
    if (this.refused.length < MAX_REFUSED) this.refused.push(line);
  }
}

function newEntry(
  email: string,
  { listedAs, notes }: { listedAs: SuppressionReason; notes?: string },
  keepReasons: boolean,
): NewEntry {
  const reason = keepReasons || isOwnReason(listedAs) ? listedAs : 'manual';
  return { email, reason, ...(notes !== undefined && { notes }) };
}

function requireFitting(csv: string): void {
  if (csv.length <= MAX_IMPORT_BYTES && Buffer.byteLength(csv) <= MAX_IMPORT_BYTES) return;
  throw new AppError('payload_too_large', `The file exceeds ${MAX_IMPORT_BYTES} bytes`, {
    details: { maxBytes: MAX_IMPORT_BYTES },
    suggestion: 'Split the file, and repeat the header line',
  });
}

function tooMany(): AppError {
  return new AppError('payload_too_large', `The file has more than ${MAX_IMPORT_LINES} entries`, {
    details: { maxLines: MAX_IMPORT_LINES },
    suggestion: 'Split the file, and repeat the header line; entries that have been added stay',
  });
}
