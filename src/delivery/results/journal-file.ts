import { chmodSync, closeSync, fdatasyncSync, ftruncateSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { fdatasync } from 'node:fs';
import { dirname } from 'node:path';
import { syncFolder } from '../../common/disk-space';

/** A folder and files that hold recipients' addresses: for this user only. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** One session's file of the result journal: whole lines, each open until it is committed. */
export class JournalFile {
  private readonly descriptor: number;
  /** Numbers of lines that are not committed, the oldest first. */
  private readonly open = new Set<number>();
  private newest = 0;
  /** The newest line at the last check, and the newest one on the disk. */
  private seen = 0;
  private synced = 0;
  /** Of the lines; no longer kept up once a part of one could not be removed. */
  private bytes = 0;
  private isTorn = false;

  /** @throws the operating system's error */
  constructor(readonly path: string) {
    this.descriptor = openSync(path, 'a', FILE_MODE);
  }

  get length(): number {
    return this.bytes;
  }

  get hasOpen(): boolean {
    return this.open.size > 0;
  }

  /** A number for a line that is about to be appended. */
  begin(): number {
    this.newest += 1;
    this.open.add(this.newest);
    return this.newest;
  }

  settled(line: number): void {
    this.open.delete(line);
  }

  /**
   * Appends a whole line or nothing: of what a full disk takes a part, that part is removed again.
   * @throws the operating system's error, or one of code ENOSPC
   */
  append(line: string): void {
    // After a part that could not be removed, so that only that part is lost.
    const bytes = Buffer.from(this.isTorn ? `\n${line}\n` : `${line}\n`);
    try {
      const written = writeSync(this.descriptor, bytes);
      if (written < bytes.length) throw Object.assign(new Error('only a part was written'), { code: 'ENOSPC' });
      this.bytes += written;
    } catch (error) {
      this.isTorn ||= !this.cutBack(this.bytes);
      throw error;
    }
  }

  /** Forgets lines that are all committed. */
  empty(): void {
    if (this.bytes === 0 && !this.isTorn) return;
    ftruncateSync(this.descriptor, 0);
    this.bytes = 0;
    this.isTorn = false;
  }

  /** Writes through to the disk when something is open that was open at the last check already. */
  syncOld(): Promise<void> {
    const [oldest = Infinity] = this.open;
    const isDue = oldest <= this.seen && this.synced < this.newest;
    this.seen = this.newest;
    return isDue ? this.sync(this.newest) : Promise.resolve();
  }

  /** What is open is on the disk afterwards; a file with nothing open is removed. @throws the operating system's error */
  close(): void {
    try {
      if (this.hasOpen) fdatasyncSync(this.descriptor);
    } finally {
      closeSync(this.descriptor);
      if (!this.hasOpen) rmSync(this.path, { force: true });
    }
  }

  private async sync(newest: number): Promise<void> {
    const isNew = this.synced === 0;
    await new Promise<void>((resolve, reject) => {
      // EBADF: closed meanwhile, which writes through too.
      fdatasync(this.descriptor, (error) => (error && error.code !== 'EBADF' ? reject(error) : resolve()));
    });
    // Without its name in the folder the file would not be found again.
    if (isNew) await syncFolder(dirname(this.path));
    this.synced = newest;
  }

  private cutBack(bytes: number): boolean {
    try {
      ftruncateSync(this.descriptor, bytes);
      return true;
    } catch {
      return false;
    }
  }
}

/** Makes the folder, and restricts what an earlier release or a copy has left open. @param files in it */
export function prepareJournalFolder(folder: string, files: readonly string[]): void {
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  restrict(folder, FOLDER_MODE);
  for (const file of files) restrict(file, FILE_MODE);
}

/** What belongs to another user stays as it is. */
function restrict(path: string, mode: number): void {
  try {
    chmodSync(path, mode);
  } catch {
    // Its owner restricts it.
  }
}
