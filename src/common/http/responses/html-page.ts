import { createHash } from 'node:crypto';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

class SafeMarkup {
  constructor(private readonly markup: string) {}

  toString(): string {
    return this.markup;
  }
}

/** Html in which everything that came from outside is text. Only `escapeHtml` makes it. */
export type Markup = SafeMarkup;

type Insertion = string | number | undefined | Markup | readonly Markup[];

/**
 * Template tag: the template's own text is html; what is put in becomes text, for element content and for attribute
 * values in quotes (nowhere else), unless it is markup already. Undefined becomes nothing.
 */
export function escapeHtml(template: TemplateStringsArray, ...insertions: Insertion[]): Markup {
  return new SafeMarkup(
    template.map((text, index) => (index === 0 ? text : inserted(insertions[index - 1]) + text)).join(''),
  );
}

function inserted(value: Insertion): string {
  if (value === undefined) return '';
  if (value instanceof SafeMarkup) return value.toString();
  if (typeof value === 'object') return value.map(String).join('');
  return String(value).replace(/[&<>"'`]/g, (sign) => ENTITIES[sign] ?? '');
}

/** Inline, so that the page is one response whatever path a proxy serves it under. */
const STYLE = `
:root { color-scheme: light dark; }
body { margin: 4rem auto; padding: 0 1rem; max-width: 32rem; font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; }
p { overflow-wrap: anywhere; }
button { padding: .5rem 1.25rem; font: inherit; cursor: pointer; }
`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** On every page: nothing but its own style, a form that leads here, and no trace in search engines. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  'x-robots-tag': 'noindex, nofollow',
};

// The style is put in as it is hashed: a formatter must not touch it.
const OPENING = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="robots" content="noindex, nofollow" />
    <style>${STYLE}</style>
`;

/** The frame of every page. */
export function pageFrame(title: string, body: Markup): string {
  return (
    OPENING +
    escapeHtml`    <title>${title}</title>
  </head>
  <body>
    <main>
      <h1>${title}</h1>
      ${body}
    </main>
  </body>
</html>
`.toString()
  );
}
