import type { ExportSection } from '../requests/privacy-request.entity';
import { NIL_ID } from '../../../common/ids';

/** How far an export has come, as the request keeps it. */
export interface ExportProgress {
  /** Id of the last email that is in a part. */
  readonly after: string;
  /** The same among emails from the subject, which come after those to it. */
  readonly sentAfter?: string;
  /** The same among inbound mail that names the subject, which comes last. */
  readonly inboundAfter?: string;
  /** Parts written of each section. */
  readonly parts: Readonly<Record<ExportSection, number>>;
  readonly items: Readonly<Record<ExportSection, number>>;
  /** Of all parts' texts. */
  readonly bytes: number;
}

const NONE = { emails: 0, events: 0, suppressions: 0 };

const BEGINNING: ExportProgress = { after: NIL_ID, parts: NONE, items: NONE, bytes: 0 };

export function progressOf({ progress }: { readonly progress: Record<string, unknown> }): ExportProgress {
  return { ...BEGINNING, ...progress };
}

/**
 * Items as texts of parts: one JSON document on a line each, as many lines as fit into about `maxBytes`, at least one.
 * The requested format is rendered from it when the result is read.
 */
export function toPartTexts(items: readonly object[], maxBytes: number): string[] {
  const texts: string[] = [];
  let lines: string[] = [];
  let bytes = 0;
  for (const item of items) {
    const line = JSON.stringify(item);
    const size = Buffer.byteLength(line) + 1;
    if (lines.length > 0 && bytes + size > maxBytes) {
      texts.push(lines.join('\n'));
      [lines, bytes] = [[], 0];
    }
    lines.push(line);
    bytes += size;
  }
  return lines.length > 0 ? [...texts, lines.join('\n')] : texts;
}
