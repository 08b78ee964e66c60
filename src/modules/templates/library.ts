import type { NewTemplate } from './templates.service';

/** Colours for light and dark mode; text has a contrast of at least 4.5 to 1 to its background (WCAG 2.2, 1.4.3). */
export const COLOURS = {
  light: { page: '#f3f4f6', card: '#ffffff', text: '#1f2937', muted: '#4b5563', line: '#d1d5db' },
  dark: { page: '#111827', card: '#1f2937', text: '#f3f4f6', muted: '#d1d5db', line: '#4b5563' },
  button: { ground: '#1d4ed8', text: '#ffffff' },
} as const;

const { light, dark, button: action } = COLOURS;
const FONT = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";

/** Clients without dark mode ignore it; the others need `!important` to override inline styles. */
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
  /** Shown in lists of mails after the subject. */
  readonly preview: string;
  readonly heading: string;
  /** HTML table rows of the card, from the functions below. */
  readonly rows: readonly string[];
  /** Why the recipient gets the mail. */
  readonly footer: string;
}

/** The whole HTML page: one column of tables, 600 pixels wide, a layout that Outlook renders correctly too. */
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

/** A table row with a paragraph of text. @param text HTML */
export function paragraph(text: string): string {
  return `<tr><td class="text" style="padding:0 0 16px;font-size:16px;line-height:24px;color:${light.text}">${text}</td></tr>`;
}

/** A table row with small print. @param text HTML */
export function note(text: string): string {
  return `<tr><td class="muted" style="padding:8px 0 0;font-size:14px;line-height:20px;color:${light.muted}">${text}</td></tr>`;
}

/** A button as a table cell with a background colour: it is visible without images. */
export function button(label: string, url: string): string {
  return `<tr><td style="padding:8px 0 24px">
<table role="presentation" cellpadding="0" cellspacing="0" border="0"><tr>
<td style="border-radius:6px;background-color:${action.ground}"><a href="${url}" style="display:inline-block;padding:12px 24px;font-size:16px;line-height:24px;font-weight:600;color:${action.text};text-decoration:none;border-radius:6px">${label}</a></td>
</tr></table>
</td></tr>`;
}

/** The link as text, for mail clients that show no button and readers who check the address first. */
export function plainLink(url: string): string {
  return note(
    `If the button does not work, copy this address into your browser:<br><a href="${url}" class="muted" style="color:${light.muted};word-break:break-all">${url}</a>`,
  );
}

/** A table of names and values. @param rows from `detail` */
export function details(rows: string): string {
  return `<tr><td class="line" style="padding:8px 0;border-top:1px solid ${light.line};border-bottom:1px solid ${light.line}">
<table ${TABLE}>
${rows}
</table>
</td></tr>
<tr><td style="height:20px;line-height:20px;font-size:1px">&nbsp;</td></tr>`;
}

/** A table row with a name and a value. Both are HTML. */
export function detail(name: string, value: string, weight: 400 | 600 = 400): string {
  const style = `padding:6px 0;font-size:15px;line-height:22px;font-weight:${weight};color:${light.text}`;
  return `<tr><td class="text" style="${style}">${name}</td><td class="text" align="right" style="${style}">${value}</td></tr>`;
}

export interface LibraryTemplate extends Required<NewTemplate> {
  readonly description: string;
}

const HELLO = '{% if name %}Hello {{ name }},{% else %}Hello,{% endif %}';
const SUPPORT = '{% if support_email %}Questions? Write to {{ support_email }}.{% endif %}';
const SIGNATURE = `-- \n{{ product_name }}\n${SUPPORT}`;

/**
 * Six templates that most applications need. All require `product_name` and accept `name`, `support_email` and `language` (of the html,
 * `en` unless given).
 */
export const LIBRARY: readonly LibraryTemplate[] = [
  {
    name: 'welcome',
    description: 'After a sign-up: product_name, action_url',
    subject: 'Welcome to {{ product_name }}',
    html: page({
      preview: 'Your account is ready.',
      heading: 'Welcome to {{ product_name }}',
      rows: [
        paragraph(HELLO),
        paragraph('Your account is ready. Here is where to begin:'),
        button('Get started', '{{ action_url }}'),
        plainLink('{{ action_url }}'),
      ],
      footer: `You receive this because you signed up for {{ product_name }}. ${SUPPORT}`,
    }),
    text: `${HELLO}\n\nWelcome to {{ product_name }}. Your account is ready. Here is where to begin:\n\n{{ action_url }}\n\n${SIGNATURE}\n`,
  },
  {
    name: 'confirm-address',
    description: 'Confirms an email address: product_name, action_url, expires_in like "24 hours"',
    subject: 'Confirm your email address for {{ product_name }}',
    html: page({
      preview: 'One click, and we know that this address is yours.',
      heading: 'Confirm your email address',
      rows: [
        paragraph(HELLO),
        paragraph('please confirm that this is your address. The link is good for {{ expires_in }}.'),
        button('Confirm address', '{{ action_url }}'),
        plainLink('{{ action_url }}'),
        note('You did not ask for this? Then do nothing: without a confirmation nothing happens.'),
      ],
      footer: `You receive this because this address was entered at {{ product_name }}. ${SUPPORT}`,
    }),
    text: `${HELLO}\n\nplease confirm that this is your address. The link is good for {{ expires_in }}:\n\n{{ action_url }}\n\nYou did not ask for this? Then do nothing: without a confirmation nothing happens.\n\n${SIGNATURE}\n`,
  },
  {
    name: 'reset-password',
    description: 'A new password: product_name, action_url, expires_in like "one hour"',
    subject: 'Reset your {{ product_name }} password',
    html: page({
      preview: 'Choose a new password within {{ expires_in }}.',
      heading: 'Reset your password',
      rows: [
        paragraph(HELLO),
        paragraph(
          'somebody asked for a new password for your account. If it was you, choose one within {{ expires_in }}:',
        ),
        button('Choose a new password', '{{ action_url }}'),
        plainLink('{{ action_url }}'),
        note(
          'It was not you? Then do nothing: your password stays as it is. {% if ip_address %}The request came from {{ ip_address }}.{% endif %}',
        ),
      ],
      footer: `You receive this because a new password was asked for at {{ product_name }}. ${SUPPORT}`,
    }),
    text: `${HELLO}\n\nsomebody asked for a new password for your account. If it was you, choose one within {{ expires_in }}:\n\n{{ action_url }}\n\nIt was not you? Then do nothing: your password stays as it is.{% if ip_address %} The request came from {{ ip_address }}.{% endif %}\n\n${SIGNATURE}\n`,
  },
  {
    name: 'receipt',
    description:
      'A payment: product_name, receipt_number, date, items [{description, amount}], total; tax, action_url if there are any',
    subject: 'Your {{ product_name }} receipt {{ receipt_number }}',
    html: page({
      preview: '{{ total }}, paid on {{ date }}. Thank you.',
      heading: 'Receipt {{ receipt_number }}',
      rows: [
        paragraph(HELLO),
        paragraph('thank you for your payment of {{ date }}.'),
        details(
          [
            `{% for item in items %}${detail('{{ item.description }}', '{{ item.amount }}')}{% endfor %}`,
            `{% if tax %}${detail('Tax', '{{ tax }}')}{% endif %}`,
            detail('Total', '{{ total }}', 600),
          ].join('\n'),
        ),
        `{% if action_url %}${button('View the receipt', '{{ action_url }}')}{% endif %}`,
      ],
      footer: `You receive this because you bought something from {{ product_name }}. ${SUPPORT}`,
    }),
    text: `${HELLO}\n\nthank you for your payment of {{ date }}. Receipt {{ receipt_number }}:\n\n{% for item in items %}{{ item.description }}: {{ item.amount }}\n{% endfor %}{% if tax %}Tax: {{ tax }}\n{% endif %}Total: {{ total }}\n{% if action_url %}\n{{ action_url }}\n{% endif %}\n${SIGNATURE}\n`,
  },
  {
    name: 'invitation',
    description: 'Into a team: product_name, inviter_name, team_name, action_url, expires_in',
    subject: '{{ inviter_name }} invites you to {{ team_name }}',
    html: page({
      preview: 'Join {{ team_name }} on {{ product_name }}.',
      heading: 'Join {{ team_name }}',
      rows: [
        paragraph(HELLO),
        paragraph(
          '{{ inviter_name }} invites you to work with {{ team_name }} on {{ product_name }}. The invitation is good for {{ expires_in }}.',
        ),
        button('Accept the invitation', '{{ action_url }}'),
        plainLink('{{ action_url }}'),
      ],
      footer: `You receive this because {{ inviter_name }} entered your address at {{ product_name }}. If you do not know them, do nothing. ${SUPPORT}`,
    }),
    text: `${HELLO}\n\n{{ inviter_name }} invites you to work with {{ team_name }} on {{ product_name }}. The invitation is good for {{ expires_in }}:\n\n{{ action_url }}\n\nYou do not know them? Then do nothing.\n\n${SIGNATURE}\n`,
  },
  {
    name: 'alert',
    description:
      'Something happened: product_name, title, message; time, details [{name, value}], action_url if there are any',
    subject: '{{ title }}',
    html: page({
      preview: '{{ message | truncate: 90 }}',
      heading: '{{ title }}',
      rows: [
        paragraph(HELLO),
        paragraph('{{ message | newline_to_br }}'),
        `{% if details %}${details(`{% if time %}${detail('Time', '{{ time }}')}{% endif %}{% for detail in details %}${detail('{{ detail.name }}', '{{ detail.value }}')}{% endfor %}`)}{% endif %}`,
        `{% if action_url %}${button('See what happened', '{{ action_url }}')}{% endif %}`,
      ],
      footer: `You receive this because alerts of {{ product_name }} are switched on for you. ${SUPPORT}`,
    }),
    text: `${HELLO}\n\n{{ message }}\n\n{% if time %}Time: {{ time }}\n{% endif %}{% if details %}{% for detail in details %}{{ detail.name }}: {{ detail.value }}\n{% endfor %}{% endif %}{% if action_url %}\n{{ action_url }}\n{% endif %}\n${SIGNATURE}\n`,
  },
];
