import { gunzipSync, gzipSync } from 'node:zlib';

/** Numbers from 0 to below 1 that depend on the seed alone (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Spelling = (address: string) => string;

const octets = (text: string, sign: string) =>
  [...Buffer.from(text)].map((octet) => `${sign}${octet.toString(16).padStart(2, '0').toUpperCase()}`).join('');
const characters = (text: string, write: (code: number) => string) =>
  [...text].map((character) => write(character.codePointAt(0) ?? 0)).join('');

/** Ways to write an address into a line of text. */
export const SPELLINGS: readonly Spelling[] = [
  (address) => address,
  (address) => address.toUpperCase(),
  (address) => `<${address}>`,
  (address) => encodeURIComponent(address),
  (address) => encodeURIComponent(encodeURIComponent(address)),
  (address) => octets(address, '%'),
  (address) => octets(address, '=').replaceAll('=3D', '='),
  (address) => characters(address, (code) => `&#${code};`),
  (address) => characters(address, (code) => `&#x${code.toString(16)};`),
  (address) => address.replace('@', '&commat;'),
  (address) => characters(address, (code) => `\\u${code.toString(16).padStart(4, '0')}`),
  (address) => `?t=${Buffer.from(`to=${address};`).toString('base64')}`,
  (address) => `?t=${Buffer.from(`{"e":"${address}"}`).toString('base64url')}`,
  (address) => Buffer.from(address).toString('hex'),
  (address) => `=?utf-8?B?${Buffer.from(`To ${address}`).toString('base64')}?=`,
  (address) => `=?utf-8?Q?To_${octets(address, '=')}?=`,
];

/** What may stand right before it in a text. */
const BEFORE = [
  'contact:\n',
  '\t',
  '\f',
  '\b',
  '\r\n',
  ' ',
  '"',
  "'",
  '(',
  '...',
  '_',
  'mailto:',
  '\\n',
  'x=',
  '%20',
  'a,',
  '\u00e4 ',
  '\u200b',
];
/** The same on one line, as header fields and tags have it. */
const BEFORE_ON_LINE = BEFORE.filter((before) => !/[\x00-\x1f\u200b]/.test(before));

type Bytes = (address: string) => {
  readonly content: Buffer;
  readonly contentType: string;
  readonly extension: string;
};

const file = (content: string | Buffer, contentType: string, extension: string) => ({
  ...{ contentType, extension },
  content: Buffer.from(content as Buffer),
});
const inLines = (text: string) => text.replace(/.{76}/g, '$&\r\n');

/** Ways to write an address into a file. */
export const FILES: readonly Bytes[] = [
  (address) => file(`name,email\r\nx,${address}\r\n`, 'text/csv', 'csv'),
  (address) => file(`\ufeffTo ${address}`, 'text/plain', 'txt'),
  (address) => file(Buffer.from(`\ufeffTo ${address}`, 'utf16le'), 'text/plain; charset=utf-16', 'txt'),
  (address) => file(Buffer.from(`To ${address}`, 'utf16le').swap16(), 'application/octet-stream', 'doc'),
  (address) => file(`{"note":"contact:\\n${address}","n":1}`, 'application/json', 'json'),
  (address) => file(`ATTENDEE:mailto:${address.slice(0, 5)}\r\n ${address.slice(5)}\r\n`, 'text/calendar', 'ics'),
  (address) => file(`EMAIL;ENCODING=QUOTED-PRINTABLE:${octets(address, '=')}=\r\n`, 'text/vcard', 'vcf'),
  (address) =>
    file(
      `Content-Transfer-Encoding: base64\r\n\r\n${inLines(Buffer.from(`${'x '.repeat(200)}${address}`).toString('base64'))}`,
      'text/plain',
      'eml',
    ),
  (address) => file(gzipSync(`To ${address}`), 'application/gzip', 'gz'),
];

const upperCase = (text: string) => text.toUpperCase();

/** A mail to the subject and one other, with the address in places that the seed decides. `KEPT` stays wherever it is text. */
export function hidingMail(address: string, other: string, random: () => number): Record<string, unknown> {
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T;
  const spelled = () => pick(SPELLINGS)(address);
  const text = () => `KEPT ${pick(BEFORE)}${spelled()}\n${pick(BEFORE)}${spelled()} KEPT`;
  const line = () => `KEPT ${pick(BEFORE_ON_LINE)}${spelled()}`;
  const chosen = pick(FILES)(address);
  const place = pick(['to', 'cc', 'bcc'] as const);
  const mailbox = pick([address, { email: address, name: 'Victoria Qzname' }, address.replace(/^[^@]*/, upperCase)]);
  const contentId = /^[\x00-\x7f]*$/.test(address) ? { contentId: `x=${address}` } : {};
  return {
    ...{ to: [other], [place]: place === 'to' ? [mailbox, other] : [mailbox] },
    replyTo: random() < 0.3 ? [address, other] : [other],
    subject: line().slice(0, 900),
    text: text(),
    html: `<p>${text()}</p><a href="https://x.example/${spelled()}">KEPT</a>`,
    headers: { 'X-One': line().slice(0, 900), 'X-Two': line().slice(0, 900) },
    tags: ['kept', `t ${address}`.slice(0, 50)],
    metadata: { kept: text(), [`k ${address}`]: [{ deep: text() }], 'kept too': { [spelled()]: 1 } },
    attachments: [
      { filename: `${address} KEPT.txt`, content: Buffer.from('KEPT').toString('base64'), ...contentId },
      {
        filename: `file.${chosen.extension}`,
        contentType: chosen.contentType,
        content: chosen.content.toString('base64'),
      },
    ],
  };
}

/**
 * Whether bytes show one of some words in any encoding, by decoding all of them again and again: it has nothing in common with how an erasure
 * looks for an address.
 *
 * @param words in lower case
 */
export function shows(bytes: Buffer, words: readonly string[], depth = 2): boolean {
  const readings = [bytes.toString(), bytes.toString('latin1'), bytes.toString('utf16le'), swapped(bytes)];
  return readings.some((text) => {
    const found = texts(text)
      .map((each) => each.normalize('NFC').toLowerCase())
      .some((each) => words.some((word) => each.includes(word)));
    return found || (depth > 0 && inner(bytes, text).some((each) => shows(each, words, depth - 1)));
  });
}

function swapped(bytes: Buffer): string {
  return Buffer.from(bytes.subarray(0, bytes.length & ~1))
    .swap16()
    .toString('utf16le');
}

function texts(text: string): string[] {
  const code = (digits: string, base: number) =>
    String.fromCodePoint(Math.min(Number.parseInt(digits, base), 0x10ffff));
  const bytewise = (pattern: RegExp) => (value: string) =>
    value.replace(pattern, (run) => Buffer.from(run.replace(/[^0-9a-f]/gi, ''), 'hex').toString());
  const percent = bytewise(/(?:%[0-9a-f]{2})+/gi);
  const quoted = bytewise(/(?:=[0-9a-f]{2})+/gi);
  const unescaped = (value: string) => value.replace(/\\+u([0-9a-f]{4})/gi, (_, digits: string) => code(digits, 16));
  const references = (value: string) =>
    value
      .replace(/&#x([0-9a-f]{1,6});/gi, (_, digits: string) => code(digits, 16))
      .replace(/&#([0-9]{1,7});/g, (_, digits: string) => code(digits, 10))
      .replaceAll('&commat;', '@');
  const joined = (value: string) => value.replace(/=\r?\n/g, '').replace(/\r?\n[ \t]/g, '');
  return [text, percent(percent(percent(text))), quoted(joined(text)), joined(text), unescaped(text), references(text)];
}

function inner(bytes: Buffer, text: string): Buffer[] {
  const found: Buffer[] = [];
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) found.push(gunzipSync(bytes));
  const runs = text.replace(/\r?\n/g, '').match(/[A-Za-z0-9+/_-]{12,}/g) ?? [];
  for (const run of runs) {
    for (const skipped of [0, 1, 2, 3]) found.push(Buffer.from(run.slice(skipped), 'base64'));
    if (/^[0-9a-f]+$/i.test(run)) found.push(Buffer.from(run, 'hex'));
  }
  return found.filter(({ length }) => length >= 6);
}
