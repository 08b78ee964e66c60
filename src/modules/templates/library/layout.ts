/** Colours in light and dark; text on its ground has a contrast of at least 4.5 to 1 (WCAG 2.2, 1.4.3). */
export const COLOURS = {
  light: { page: '#f3f4f6', card: '#ffffff', text: '#1f2937', muted: '#4b5563', line: '#d1d5db' },
  dark: { page: '#111827', card: '#1f2937', text: '#f3f4f6', muted: '#d1d5db', line: '#4b5563' },
  button: { ground: '#1d4ed8', text: '#ffffff' },
} as const;

const { light, dark, button: action } = COLOURS;
const FONT = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";

/** Clients that know no dark mode ignore it; the others need `!important` to come before inline styles. */
const STYLES = `
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (prefers-color-scheme: dark) {
  .page { background-color: ${dark.page} !important; }
  .card { background-color: ${dark.card} !important; }
  .text { color: ${dark.text} !important; }
  .muted { color: ${dark.muted} !important; }
  .line { border-color: ${dark.line} !important; }
}
@media (max-width: 620px) { .card { padding: 24px 20px !important; } }`.trim();

const TABLE = 'role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"';

export interface Letter {
  /** What lists of mails show behind the subject. */
  readonly preview: string;
  readonly heading: string;
  /** Rows of the card, made by the functions below. */
  readonly rows: readonly string[];
  /** Why the reader gets it. */
  readonly footer: string;
}

/** The whole page: one column of tables, 600 pixels wide, which Outlook too shows as it is meant. */
export function page({ preview, heading, rows, footer }: Letter): string {
  return `<!doctype html>
<html lang="{{ language | default: "en" }}" dir="auto">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no">
<title>${heading}</title>
<style>
${STYLES}
</style>
</head>
<body class="page" style="margin:0;padding:0;background-color:${light.page};${FONT}">
<div style="display:none;max-height:0;overflow:hidden">${preview}</div>
<table ${TABLE} class="page" style="background-color:${light.page}">
<tr><td align="center" style="padding:24px 12px">
<table role="presentation" width="600" cellpadding="0" cellspacing="0" border="0" style="width:100%;max-width:600px">
<tr><td class="text" style="padding:0 0 16px;font-size:18px;font-weight:600;color:${light.text}">{{ product_name }}</td></tr>
<tr><td class="card" style="padding:36px;background-color:${light.card};border-radius:8px">
<table ${TABLE}>
<tr><td><h1 class="text" style="margin:0 0 16px;font-size:24px;line-height:32px;color:${light.text}">${heading}</h1></td></tr>
${rows.join('\n')}
</table>
</td></tr>
<tr><td class="muted" style="padding:20px 4px 0;font-size:13px;line-height:20px;color:${light.muted}">${footer}</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`;
}

export function paragraph(text: string): string {
  return `<tr><td class="text" style="padding:0 0 16px;font-size:16px;line-height:24px;color:${light.text}">${text}</td></tr>`;
}

export function note(text: string): string {
  return `<tr><td class="muted" style="padding:8px 0 0;font-size:14px;line-height:20px;color:${light.muted}">${text}</td></tr>`;
}

/** A cell with a ground, not a picture: it is there when pictures are not. */
export function button(label: string, url: string): string {
  return `<tr><td style="padding:8px 0 24px">
<table role="presentation" cellpadding="0" cellspacing="0" border="0"><tr>
<td style="border-radius:6px;background-color:${action.ground}"><a href="${url}" style="display:inline-block;padding:12px 24px;font-size:16px;line-height:24px;font-weight:600;color:${action.text};text-decoration:none;border-radius:6px">${label}</a></td>
</tr></table>
</td></tr>`;
}

/** For clients that show no button, and people who look before they follow. */
export function plainLink(url: string): string {
  return note(
    `If the button does not work, copy this address into your browser:<br><a href="${url}" class="muted" style="color:${light.muted};word-break:break-all">${url}</a>`,
  );
}

/** Name and value, line by line. */
export function details(rows: string): string {
  return `<tr><td class="line" style="padding:8px 0;border-top:1px solid ${light.line};border-bottom:1px solid ${light.line}">
<table ${TABLE}>
${rows}
</table>
</td></tr>
<tr><td style="height:20px;line-height:20px;font-size:1px">&nbsp;</td></tr>`;
}

export function detail(name: string, value: string, weight: 400 | 600 = 400): string {
  const style = `padding:6px 0;font-size:15px;line-height:22px;font-weight:${weight};color:${light.text}`;
  return `<tr><td class="text" style="${style}">${name}</td><td class="text" align="right" style="${style}">${value}</td></tr>`;
}
