const WELCOME = {
  from: 'Waybill <hello@waybill.test>',
  to: ['Ada Lovelace <ada@example.com>'],
  subject: 'Welcome aboard',
  html: '<p>Hello Ada, <a href="https://example.com/start">start here</a>.</p>',
};

/** Requests that work as they are on a fresh local installation; the documentation offers them. */
export const SEND_EXAMPLES = {
  html: { summary: 'HTML; the text part is derived', value: WELCOME },
  attachment: {
    summary: 'With an attachment, tags and metadata',
    value: {
      ...WELCOME,
      subject: 'Your invoice',
      text: 'Your invoice is attached.',
      attachments: [{ filename: 'invoice.txt', content: 'VG90YWw6IDQyIEVVUg==', contentType: 'text/plain' }],
      tags: ['invoice'],
      metadata: { customerId: 'c-1815' },
    },
  },
};

export const BATCH_EXAMPLES = {
  two: {
    summary: 'Two emails',
    value: [WELCOME, { ...WELCOME, to: [{ email: 'grace@example.com', name: 'Grace Hopper' }] }],
  },
};
