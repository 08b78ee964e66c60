import { decodeCharset, decodeEncodedWords } from './part-text';

const QUOTED = String.raw`"(?:[^"\\]|\\.){0,1000}"`;
/** With one level of others in it. */
const COMMENT = String.raw`\((?:[^()\\]|\\.|\((?:[^()\\]|\\.){0,500}\)){0,1000}\)`;
/** What holds no separator: a quoted string, a comment, what is in brackets; or one sign, such as a quote without its end. */
const TOKENS = new RegExp(String.raw`${QUOTED}|${COMMENT}|<[^<>,;]{0,1000}>|\[[^[\]]{0,100}\]|[^]`, 'g');

/** RFC 5322 section 3.2.3. */
const SPECIALS = /[()<>[\]:;@\\,"]/;

/** The mailboxes of a list, as they are written; of a group (RFC 5322 section 3.4) its members. */
export function mailboxesIn(list: string): string[] {
  const found = [''];
  for (const [token] of list.matchAll(TOKENS)) {
    if (token === ',' || token === ';') found.push('');
    // The name of a group.
    else if (token === ':') found[found.length - 1] = '';
    else found[found.length - 1] += token;
  }
  return found;
}

/**
 * A field of addresses for display. An encoded word is a name or a part of one, whatever it holds (RFC 2047 sections 5 and 6.2):
 * `=?utf-8?q?Boss_=3Cboss=40bank.example=3E?= <a@b.example>` has one address, so what would read as another one is quoted. With
 * a quote or a bracket that has no end, words stay encoded.
 * @param value one character a byte
 */
export function decodeAddressField(value: string): string {
  const text = decodeCharset(value, undefined);
  const tokens = text.match(TOKENS) ?? [];
  if (tokens.some((token) => token === '"' || token === '(' || token === '<')) return text;
  let decoded = '';
  let plain = '';
  const flush = (): void => {
    decoded += decodeEncodedWords(plain, (words) => (SPECIALS.test(words) ? `"${escaped(words)}"` : words));
    plain = '';
  };
  for (const token of tokens) {
    if (token.length === 1) {
      plain += token;
      continue;
    }
    flush();
    decoded += /^["(]/.test(token) ? decodeEncodedWords(token, escaped) : token;
  }
  flush();
  return decoded;
}

function escaped(words: string): string {
  return words.replace(/[\\"()]/g, '\\$&');
}

/** A quoted string that is no local part, and comments. */
const NAMES = new RegExp(String.raw`${QUOTED}(?!@)|${COMMENT}`, 'g');
const BRACKETS = /<([^<>]{0,1000})>/;

/** Whether a mailbox has at most one address in brackets: of `<a@b.example> <c@d.example>`, readers show the one or the other. */
export function isSingle(mailbox: string): boolean {
  return mailbox.replace(NAMES, ' ').split('<').length <= 2;
}

/**
 * The part of a mailbox in which its address is: within brackets, where there are any, else all but names and comments.
 * @param mailbox undecoded, so that no encoded word is taken for an address
 */
export function addressPartOf(mailbox: string): string {
  const bare = mailbox.replace(NAMES, ' ');
  return BRACKETS.exec(bare)?.[1] ?? bare;
}
