import { escapeHtml, type Markup } from '../../common/http/html-page';

/** The pages: no script, no inline style, nothing from elsewhere; only the message's own document in a frame. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; frame-src 'self'; frame-ancestors 'self'; form-action 'self'; base-uri 'none'";

/**
 * A message's html, which is hostile until proven otherwise: an origin of its own (`sandbox`, which also holds when the
 * document is opened outside its frame), no script, no form, nothing remote.
 */
export const MESSAGE_POLICY =
  "default-src 'none'; img-src data: cid:; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'; form-action 'none'; base-uri 'none'";

export const HTML_TYPE = 'text/html; charset=utf-8';

export interface Page {
  readonly title: string;
  readonly body: Markup;
  /** The browser asks again after so many seconds. */
  readonly refreshSeconds?: number | undefined;
}

/** The frame of every page. */
export function layout({ title, body, refreshSeconds }: Page): string {
  const refresh =
    refreshSeconds === undefined ? undefined : escapeHtml`<meta http-equiv="refresh" content="${refreshSeconds}" />`;
  return escapeHtml`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    ${refresh}
    <title>${title}</title>
    <link rel="stylesheet" href="/mailbox/style.css" />
  </head>
  <body>
    <p class="brand"><a href="/console">Waybill</a> <span>Local mailbox</span></p>
    ${body}
  </body>
</html>
`.toString();
}

/** A moment, to the second and in UTC, as in the logs and in the API. */
export function time(moment: Date): Markup {
  const iso = moment.toISOString();
  return escapeHtml`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)}</time>`;
}

const KIB = 1024;

export function fileSize(bytes: number): string {
  if (bytes < KIB) return `${bytes} B`;
  if (bytes < KIB * KIB) return `${(bytes / KIB).toFixed(1)} KB`;
  return `${(bytes / KIB / KIB).toFixed(1)} MB`;
}
