import { shortened } from '../../common/http/responses/downloads';
import { escapeHtml, type Markup } from '../../common/http/responses/html-page';

/** Controls but line feeds and tabs, lone surrogates and bidirectional controls. */
const UNFIT_IN_A_BODY = /[^\P{Cc}\n\t]|[\p{Cs}\u202a-\u202e\u2066-\u2069]/gu;

/** Text of a message with its lines, at most `maxLength` characters. */
export function displayBody(text: string, maxLength: number): string {
  // Cut before the search for line ends: each line end shortens two characters to one at most.
  const beginning = text.slice(0, 2 * maxLength + 2);
  return shortened(beginning.replace(/\r\n?/g, '\n'), maxLength).replace(UNFIT_IN_A_BODY, '\ufffd');
}

/** The stylesheet of the pages, with the console's colours and shapes: one file without images and fonts, light or dark like the system. */
export const STYLESHEET = `
:root {
  color-scheme: light dark;
  --paper: #f7f8fa; --card: #fff; --ink: #171b22; --faint: #4d5664; --line: #dde1e8; --strong: #868e9b; --accent: #2a52be;
  --bad: #a8201a; --hover: #f1f4f8;
}
@media (prefers-color-scheme: dark) {
  :root { 
    --paper: #101318; --card: #181c23; --ink: #eceff4; --faint: #a9b3c2; --line: #2c333f; --strong: #727d8e; --accent: #8fb0ff;
    --bad: #ff9d96; --hover: #212732;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1rem; max-width: 72rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif;
}
a { color: var(--accent); }
.brand { display: flex; gap: .75rem; align-items: baseline; margin: 0 0 1.5rem; color: var(--faint); }
.brand a { color: var(--ink); font-size: 1.125rem; font-weight: 650; text-decoration: none; }
.tools { display: flex; flex-wrap: wrap; gap: .75rem; justify-content: space-between; margin-top: .75rem; }
.tools form { display: flex; flex-wrap: wrap; gap: .5rem; }
input { min-width: 0; width: 20rem; max-width: 100%; padding: .375rem .625rem; border: 1px solid var(--strong); border-radius: 6px; background: var(--card); color: inherit; font: inherit; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 1.5rem 0 .5rem; font-size: 1.05rem; }
header { margin-bottom: 1rem; }
header p { margin: .25rem 0; color: var(--faint); }
.card, table, details, .text {
  background: var(--card); border: 1px solid var(--line); border-radius: 10px;
}
.card { padding: .75rem 1rem; }
.card > :first-child { margin-top: 0; }
.card > :last-child { margin-bottom: 0; }
ul.links { margin: 0; list-style: none; }
.links li { padding: .25rem 0; overflow-wrap: anywhere; }
.hint { margin: .25rem 0 0; color: var(--faint); font-size: .85rem; }
.button {
  display: inline-block; padding: .375rem .875rem; border: 1px solid var(--strong); border-radius: 6px; background: var(--card);
  color: var(--ink); font: inherit; font-weight: 550; text-decoration: none; cursor: pointer;
}
.button:hover { background: var(--hover); }
.button.danger { border-color: var(--bad); color: var(--bad); }
table { width: 100%; border-spacing: 0; overflow: hidden; }
th, td { padding: .5rem .75rem; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
th { color: var(--faint); font-size: .8rem; font-weight: 600; }
td { border-top: 1px solid var(--line); }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.when { color: var(--faint); white-space: nowrap; font-variant-numeric: tabular-nums; }
.list .from, .list .to { width: 22%; }
.list .subject a { font-weight: 600; text-decoration: none; }
.list .subject a:hover { text-decoration: underline; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: 0; }
dt { color: var(--faint); }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
pre { overflow: auto; font: 13px/1.5 ui-monospace, monospace; }
.text { margin: 0; padding: .75rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin-top: 1rem; padding: .5rem 1rem; }
details .text { border: 0; padding: .5rem 0; }
summary { cursor: pointer; font-weight: 600; }
.fields { grid-template-columns: minmax(6rem, 14rem) 1fr; padding: .5rem 0; font-size: .85rem; }
iframe {
  display: block; width: 100%; height: 32rem; resize: vertical; border: 1px solid var(--line); border-radius: 8px;
  background: #fff; color-scheme: light;
}
nav { display: flex; gap: 1rem; justify-content: center; margin-top: 1rem; }
@media (max-width: 45rem) {
  .list thead { display: none; }
  .list tr { display: grid; grid-template-columns: 1fr max-content; padding: .5rem .75rem; border-top: 1px solid var(--line); }
  .list tr:first-child { border-top: 0; }
  .list td { padding: 0; border: 0; width: auto !important; }
  .list .subject { grid-row: 1; grid-column: 1 / -1; }
  .list .when, .list .number { grid-row: 2; color: var(--faint); }
  .list .from, .list .to { grid-column: 1 / -1; color: var(--faint); }
  .list .from::before { content: 'From '; }
  .list .to::before { content: 'To '; }
  dl, .fields { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .5rem; }
}
`;

/** Content security policy of the pages: no scripts, no inline styles, nothing remote; only the message's own document in a frame. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; frame-src 'self'; frame-ancestors 'self'; form-action 'self'; base-uri 'none'";

/**
 * Content security policy of a message's html, which is not trusted: an origin of its own (`sandbox`, which also applies when the
 * document is opened outside its frame), no scripts, no forms, nothing remote.
 */
export const MESSAGE_POLICY =
  "default-src 'none'; img-src data: cid:; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'; form-action 'none'; base-uri 'none'";

export const HTML_TYPE = 'text/html; charset=utf-8';

export interface Page {
  readonly title: string;
  readonly body: Markup;
  /** Seconds after which the browser reloads the page. */
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

/** A time in UTC, to the second. */
export function time(moment: Date): Markup {
  const iso = moment.toISOString();
  return escapeHtml`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)}</time>`;
}

const KIB = 1024;

/** A number of bytes in a readable unit. */
export function fileSize(bytes: number): string {
  if (bytes < KIB) return `${bytes} B`;
  if (bytes < KIB * KIB) return `${(bytes / KIB).toFixed(1)} KB`;
  return `${(bytes / KIB / KIB).toFixed(1)} MB`;
}
