import { JournalFile } from './journal-file';

/** A file this long takes no further lines. */
const FULL_BYTES = 1024 * 1024;

/** A line of the journal that is not committed yet. */
export interface OpenLine {
  readonly file: JournalFile;
  readonly number: number;
}

/**
 * One session's lines, in files that take turns.
 *
 * Under a steady load there is no moment in which nothing is open, so one file could never be emptied. A full one is followed by
 * another, and removed with its last open line: mostly there are two. A result that waits for hours keeps the file of its line,
 * and no others. An earlier release reads the first file only, and does not take the others for journals of ended sessions,
 * which it would remove.
 */
export class SessionJournal {
  private readonly numbered = new Map<number, JournalFile>();
  private active: JournalFile;

  /** @param path of its first file; the others add a number. @throws the operating system's error */
  constructor(private readonly path: string) {
    this.active = this.open(1);
  }

  get files(): JournalFile[] {
    return [...this.numbered.values()];
  }

  get hasOpen(): boolean {
    return this.files.some((file) => file.hasOpen);
  }

  /** A line that is about to be appended to its file. */
  begin(): OpenLine {
    if (this.active.length >= FULL_BYTES) this.change();
    return { file: this.active, number: this.active.begin() };
  }

  /** @throws the operating system's error */
  settled({ file, number }: OpenLine): void {
    file.settled(number);
    if (file.hasOpen) return;
    if (file !== this.active) this.remove(file);
    else if (file.length >= FULL_BYTES) file.empty();
  }

  /** Forgets lines that are all committed. @throws the operating system's error */
  trim(): void {
    if (!this.active.hasOpen) this.active.empty();
  }

  private change(): void {
    let number = 1;
    while (this.numbered.has(number)) number += 1;
    try {
      this.active = this.open(number);
    } catch {
      // No descriptor is free, or no inode: a line more in the full file protects its mail all the same.
    }
  }

  private open(number: number): JournalFile {
    const file = new JournalFile(number === 1 ? this.path : `${this.path}.${number}`);
    this.numbered.set(number, file);
    return file;
  }

  private remove(file: JournalFile): void {
    for (const [number, one] of this.numbered) if (one === file) this.numbered.delete(number);
    file.close();
  }
}
