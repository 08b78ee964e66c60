import fc from 'fast-check';
import { anyCharacter } from './any-character';

/** The JSON body of a request that is accepted from any tenant with a default domain. */
export function sendBody(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { to: ['ada@example.com'], subject: 'Hi', text: 'Hello', ...fields };
}

/** Ordinary text and text that is hard to quote, without NUL and lone surrogates, which the API refuses. */
export const anyText = (constraints: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> =>
  fc
    .string({ unit: fc.oneof(fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 }), SPECIAL), ...constraints })
    .map((text) => text.replaceAll('\0', '0'));

const SPECIAL = fc.constantFrom(
  '"',
  "'",
  '\\',
  '{',
  '}',
  ',',
  '\n',
  '\r\n',
  '\t',
  ' ',
  'NULL',
  '😀',
  'é',
  '\u0301',
  '%',
);

/** One visible line. */
const lineOf = (constraints: { minLength?: number; maxLength: number }): fc.Arbitrary<string> =>
  anyText(constraints)
    .map((text) => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, ' '))
    .filter((text) => text.trim() === text && text.length >= (constraints.minLength ?? 0));

const localPart = fc.string({
  unit: fc.constantFrom(...Array.from("abcXYZ019!#$%&'*+/=?^_`{|}~-é")),
  minLength: 1,
  maxLength: 20,
});
const address = fc.tuple(localPart, fc.constantFrom('example.com', 'bücher.example', 'mx.example.org'));
const mailbox = fc.oneof(
  address.map((parts) => parts.join('@')),
  fc.record({ email: address.map((parts) => parts.join('@')), name: lineOf({ minLength: 1, maxLength: 60 }) }),
);

const json: fc.Arbitrary<unknown> = fc
  .jsonValue({ maxDepth: 2, stringUnit: 'grapheme' })
  .map((value): unknown => JSON.parse(JSON.stringify(value).replaceAll('\\u0000', '0')));

/** A request with every field, each with text that is hard to quote. */
export const fullRequest = fc.record({
  from: fc.record({ email: fc.constantFrom('billing', 'a.b+c'), name: lineOf({ minLength: 1, maxLength: 60 }) }),
  to: fc.array(mailbox, { minLength: 1, maxLength: 5 }),
  cc: fc.array(mailbox, { maxLength: 3 }),
  bcc: fc.array(mailbox, { maxLength: 3 }),
  replyTo: fc.array(mailbox, { maxLength: 3 }),
  subject: lineOf({ minLength: 1, maxLength: 200 }),
  html: anyText({ maxLength: 400 }),
  text: anyText({ minLength: 1, maxLength: 400 }),
  headers: fc.dictionary(
    fc.stringMatching(/^X-[A-Za-z0-9'"{},\\]{1,20}$/).map((name) => `${name}-own`),
    lineOf({ maxLength: 100 }),
    { maxKeys: 4 },
  ),
  attachments: fc.array(
    fc.record({
      filename: lineOf({ minLength: 1, maxLength: 60 }).map((name) => `${name.replace(/[/\\]/g, '_')}.pdf`),
      content: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('base64')),
      contentType: fc.constantFrom('application/pdf', 'text/plain; charset="utf-8"'),
      contentId: fc.constantFrom('logo@x', "a'{b}"),
    }),
    { maxLength: 3 },
  ),
  tags: fc.uniqueArray(anyText({ minLength: 1, maxLength: 30 }), { maxLength: 5 }),
  metadata: fc.dictionary(anyText({ minLength: 1, maxLength: 20 }), json, { maxKeys: 4 }),
  tracking: fc.record({ opens: fc.boolean(), clicks: fc.boolean() }),
  category: fc.constantFrom('transactional', 'bulk'),
});
