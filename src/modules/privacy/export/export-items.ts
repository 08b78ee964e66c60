import { isSameAddress } from '../../../common/address-forms';
import { jsonInTurns } from '../../../common/async/text-in-turns';
import type { ExportSection } from '../requests/privacy-request.entity';
import { NIL_ID } from '../../../common/ids';

/** The sections of a result, in their order. */
export const SECTIONS = ['emails', 'events', 'suppressions'] as const satisfies readonly ExportSection[];

export interface ExportedEmail {
  readonly id: string;
  readonly fromEmail: string;
  /** Other people's addresses are redacted. */
  readonly toEmails: readonly string[];
  readonly ccEmails: readonly string[];
  /** Only the subject's own address: blind copies are not visible to others. */
  readonly bccEmails: readonly string[];
  readonly subject: string;
  readonly createdAt: string;
  readonly status: string;
  /** Present as long as the content is kept. */
  readonly htmlBody?: string;
  readonly textBody?: string;
  /** Absent when the email has none; addresses of others are redacted. */
  readonly replyTo?: readonly string[];
  readonly tags?: unknown;
  readonly metadata?: unknown;
  readonly headers?: unknown;
  readonly attachments?: unknown;
}

export interface ExportedEvent {
  readonly id: string;
  readonly emailId: string;
  readonly eventType: string;
  readonly timestamp: string;
  readonly eventData: unknown;
}

export interface ExportedSuppression {
  readonly id: string;
  readonly email: string;
  readonly reason: string;
  readonly suppressedAt: string;
  /** What the organization noted about the subject. */
  readonly notes?: string;
}

export interface ExportItems {
  readonly emails: readonly ExportedEmail[];
  readonly events: readonly ExportedEvent[];
  readonly suppressions: readonly ExportedSuppression[];
}

/** A result, read section by section: texts with one JSON document on each line. */
export interface ExportResult {
  readonly read: (section: ExportSection) => AsyncIterable<string>;
}

export const REDACTED = '[redacted]';

/** A character on either side of an @ in any text, including percent-encoded text of a URL. */
const WORD = '[^\\s<>()[\\]{}:;,"\'`|=&?#/\\\\@]';
/** Starts at a word boundary, so that a long word is scanned once. */
const ADDRESS = new RegExp(`(?<!${WORD})${WORD}+(?:@|%40)${WORD}+`, 'giu');
const FINAL_SIGNS = /[.!]+$/;
const LINE_END = Buffer.from('\n');

/** An address as shown to the subject: another person's is redacted. */
export function redactAddress(address: string, subject: string): string {
  return isSameAddress(address, subject) ? address : REDACTED;
}

/** A copy of a JSON value in which every address but the subject's is redacted, in all texts and names of fields. */
export function redactOthers(value: unknown, subject: string): unknown {
  if (typeof value === 'string') return redactText(value, subject);
  if (Array.isArray(value)) return value.map((element) => redactOthers(element, subject));
  if (typeof value !== 'object' || value === null) return value;
  const redacted = new Map<string, unknown>();
  for (const [name, field] of Object.entries(value)) {
    redacted.set(freeName(redactText(name, subject), redacted), redactOthers(field, subject));
  }
  return Object.fromEntries(redacted);
}

/** Names that differ in an address only stay apart. */
function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  let free = name;
  for (let number = 2; taken.has(free); number += 1) free = `${name}-${number}`;
  return free;
}

function redactText(text: string, subject: string): string {
  return text.replace(ADDRESS, (found) => {
    const written = found.replace(FINAL_SIGNS, '');
    return redactAddress(decode(written), subject) === REDACTED ? REDACTED : found;
  });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The progress of an export, as stored with the request. */
export interface ExportProgress {
  /** Id of the last email that has been written. */
  readonly after: string;
  /** The same for emails from the subject, which follow those to the subject. */
  readonly sentAfter?: string;
  /** The same for inbound mail that names the subject, which comes last. */
  readonly inboundAfter?: string;
  /** Number of written parts of each section. */
  readonly parts: Readonly<Record<ExportSection, number>>;
  readonly items: Readonly<Record<ExportSection, number>>;
  /** Bytes of the texts of all parts. */
  readonly bytes: number;
}

const NONE = { emails: 0, events: 0, suppressions: 0 };

const BEGINNING: ExportProgress = { after: NIL_ID, parts: NONE, items: NONE, bytes: 0 };

/** The stored progress of an export, with defaults. */
export function progressOf({ progress }: { readonly progress: Record<string, unknown> }): ExportProgress {
  return { ...BEGINNING, ...progress };
}

/**
 * Splits items into parts: one JSON document per line, as many lines as fit into about `maxBytes`, at least one. An email may have
 * 5 MiB, which are written in turns of the event loop. The requested format is rendered from them when the result is read.
 */
export async function toParts(items: readonly object[], maxBytes: number): Promise<Buffer[]> {
  const parts: Buffer[] = [];
  let lines: Buffer[] = [];
  let bytes = 0;
  for (const item of items) {
    const line = await jsonInTurns(item);
    const size = line.length + 1;
    if (lines.length > 0 && bytes + size > maxBytes) {
      parts.push(joined(lines));
      [lines, bytes] = [[], 0];
    }
    lines.push(line);
    bytes += size;
  }
  return lines.length > 0 ? [...parts, joined(lines)] : parts;
}

function joined(lines: readonly Buffer[]): Buffer {
  return Buffer.concat(lines.flatMap((line, index) => (index === 0 ? [line] : [LINE_END, line])));
}
