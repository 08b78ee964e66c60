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
