import type { NewTemplate } from '../templates.service';
import { button, detail, details, note, page, paragraph, plainLink } from './layout';

export interface LibraryTemplate extends Required<NewTemplate> {
  readonly description: string;
}

const HELLO = '{% if name %}Hello {{ name }},{% else %}Hello,{% endif %}';
const SUPPORT = '{% if support_email %}Questions? Write to {{ support_email }}.{% endif %}';
const SIGNATURE = `-- \n{{ product_name }}\n${SUPPORT}`;

/**
 * Six mails that most applications send. All take `product_name`, and may take `name`, `support_email` and `language` (of the html,
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
