/** Mail as an application sends it: a text and an html part, together 2 KB of JSON. */
const SENTENCE = 'Thank you for your order, which has left our warehouse today and should reach you within two days. ';
const ITEM = '<tr><td style="padding:8px 0">Garden chair, ash</td><td align="right">2 × 49.00</td></tr>\n';

const TEXT = `Hello,\n\n${`${SENTENCE}\n`.repeat(5)}\nYour shop\n`;
const HTML = `<html><body><h1>Your order is on its way</h1>\n<p>${SENTENCE.repeat(2)}</p>\n<table>\n${ITEM.repeat(9)}</table></body></html>\n`;

/** Recipients: enough of them to touch different rows and to fill the queue with several destinations. */
const DESTINATIONS = 50;

/** The body of `POST /v1/emails` number `index`. */
export function emailBody(index) {
  return {
    from: 'Shop <orders@bench.test>',
    to: [`customer${index}@receiver${index % DESTINATIONS}.test`],
    subject: `Your order ${100_000 + index} is on its way`,
    text: TEXT,
    html: HTML,
    tags: ['order'],
  };
}
