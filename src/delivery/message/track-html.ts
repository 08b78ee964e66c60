import { findLinks } from './html-links';

export interface HtmlTracking {
  /** Asked for when the mail is opened; absent: openings are not tracked. */
  readonly pixelUrl?: string | undefined;
  /** What to lead a link to instead; undefined leaves it alone. Absent: clicks are not tracked. */
  readonly linkFor?: ((url: string) => string | undefined) | undefined;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * The html with its links led through `linkFor` and a pixel at the end of its body. Nothing else changes by a single
 * character: mail html is full of tricks for mail programs that no serializer would leave alone.
 */
export function trackHtml(html: string, { pixelUrl, linkFor }: HtmlTracking): string {
  const { links, bodyEnd = html.length } = findLinks(html);
  const edits: Edit[] = [];
  for (const { url, ...place } of linkFor ? links : []) {
    const link = linkFor?.(url);
    if (link !== undefined) edits.push({ ...place, text: escapeValue(link) });
  }
  if (pixelUrl !== undefined) edits.push({ start: bodyEnd, end: bodyEnd, text: pixelOf(pixelUrl) });
  return applyEdits(html, edits);
}

/** Fits values in quotes of either kind and, for addresses, values without. */
function escapeValue(value: string): string {
  return value.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

function pixelOf(url: string): string {
  const style = 'display:none;width:1px;height:1px';
  return `<img src="${escapeValue(url)}" width="1" height="1" alt="" style="${style}">`;
}

function applyEdits(html: string, edits: readonly Edit[]): string {
  let at = 0;
  let edited = '';
  for (const { start, end, text } of edits.toSorted((one, other) => one.start - other.start)) {
    edited += html.slice(at, start) + text;
    at = end;
  }
  return edited + html.slice(at);
}
