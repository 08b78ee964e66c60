import { createHash } from 'node:crypto';
import type { PassphraseEncrypted } from '../../common/encryption/passphrase';
import { BackupFileError, type BackupPart, readBackupFile } from './backup-file';

/** One table of a backup. */
export interface BackupTable {
  readonly name: string;
  /** Those that are stored: generated ones are computed again, and what only fills a row is its default again. */
  readonly columns: readonly string[];
  /** Of a table partitioned by month: the months that there are, as `YYYY-MM-01`. */
  readonly months: readonly string[];
}

export interface BackupSequence {
  readonly name: string;
  readonly lastValue: string;
  readonly isCalled: boolean;
}

/** The first part of a backup. The others: for each table its content, and `TableEnd`; then `BackupEnd`. */
export interface BackupHeader {
  readonly kind: 'header';
  readonly createdAt: string;
  /** That wrote it. */
  readonly release: string;
  /** Names, in their order: they make the schema. */
  readonly migrations: readonly string[];
  /** Tells the master key without revealing it. */
  readonly masterKeyId: number;
  /** The master key itself, under a pass phrase. */
  readonly masterKey?: PassphraseEncrypted;
  readonly tables: readonly BackupTable[];
  readonly sequences: readonly BackupSequence[];
}

export interface TableEnd {
  readonly kind: 'table-end';
  readonly name: string;
  readonly rows: number;
  /** Of the table's bytes, in hex. */
  readonly sha256: string;
}

export interface BackupEnd {
  readonly kind: 'end';
  readonly rows: number;
}

/** What was found in a file from its beginning to its end. */
export interface VerifiedBackup {
  readonly header: BackupHeader;
  readonly rows: number;
  readonly tables: ReadonlyMap<string, TableEnd>;
}

type Json = BackupHeader | TableEnd | BackupEnd;

/** Only the header. @throws BackupFileError */
export async function readBackupHeader(file: string): Promise<BackupHeader> {
  for await (const part of readBackupFile(file)) return headerOf(part);
  throw new BackupFileError(`${file} is empty`);
}

/** Reads a whole file and compares everything that it says about itself. @throws BackupFileError */
export async function verifyBackup(file: string): Promise<VerifiedBackup> {
  const tables = new Map<string, TableEnd>();
  let header: BackupHeader | undefined;
  let end: BackupEnd | undefined;
  let hash = createHash('sha256');
  for await (const part of readBackupFile(file)) {
    header ??= headerOf(part);
    if (part.type === 'data') {
      hash.update(part.bytes);
      continue;
    }
    const value = part.value as Json;
    if (value.kind === 'end') end = value;
    if (value.kind !== 'table-end') continue;
    if (hash.digest('hex') !== value.sha256) throw new BackupFileError(`${file} is damaged: ${value.name} has changed`);
    hash = createHash('sha256');
    tables.set(value.name, value);
  }
  if (!header || !end) throw new BackupFileError(`${file} is damaged: it is cut off`);
  assertComplete(file, header, tables);
  return { header, rows: end.rows, tables };
}

function assertComplete(file: string, { tables }: BackupHeader, found: ReadonlyMap<string, TableEnd>): void {
  const missing = tables.filter(({ name }) => !found.has(name)).map(({ name }) => name);
  if (missing.length > 0) throw new BackupFileError(`${file} is damaged: it lacks ${missing.join(', ')}`);
}

function headerOf(part: BackupPart): BackupHeader {
  const value = part.type === 'json' ? (part.value as Json) : undefined;
  if (value?.kind === 'header') return value;
  throw new BackupFileError('it has no header');
}
