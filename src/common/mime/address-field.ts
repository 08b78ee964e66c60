import { decodeCharset, decodeEncodedWords } from './part-text';

const QUOTED = String.raw`"(?:[^"\\]|\\.){0,1000}"`;
/** With one level of others in it. */
const COMMENT = String.raw`\((?:[^()\\]|\\.|\((?:[^()\\]|\\.){0,500}\)){0,1000}\)`;
/** What holds no separator: a quoted string, a comment, what is in brackets. */
const ENCLOSED = new RegExp(String.raw`${QUOTED}|${COMMENT}|<[^<>,;]{0,1000}>|\[[^[\]]{0,100}\]`, 'y');
const OPENERS = '"(<[';
/** Of those that have no end: each costs a pass over what follows it. */
const MAX_UNENDED = 20;

/** What is enclosed, and single signs. Behind many that open and do not close, all are single. */
function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  let unended = 0;
  for (let at = 0; at < text.length;) {
    const sign = text.charAt(at);
    const mayOpen = unended < MAX_UNENDED && OPENERS.includes(sign);
    ENCLOSED.lastIndex = at;
    const token = mayOpen ? ENCLOSED.exec(text)?.[0] : undefined;
    if (mayOpen && token === undefined) unended += 1;
    tokens.push(token ?? sign);
    at += token?.length ?? 1;
  }
  return tokens;
}

/** RFC 5322 section 3.2.3. */
const SPECIALS = /[()<>[\]:;@\\,"]/;

/** The mailboxes of a list, as they are written; of a group (RFC 5322 section 3.4) its members. */
export function mailboxesIn(list: string): string[] {
  return mailboxPlacesIn(list).map(({ start, end }) => list.slice(start, end));
}

/** Where `mailboxesIn` finds them. */
export function mailboxPlacesIn(list: string): { readonly start: number; readonly end: number }[] {
  const places = [{ start: 0, end: 0 }];
  let at = 0;
  for (const token of tokensOf(list)) {
    at += token.length;
    if (token === ',' || token === ';') places.push({ start: at, end: at });
    // The name of a group.
    else if (token === ':') places[places.length - 1] = { start: at, end: at };
    else places[places.length - 1] = { start: places.at(-1)?.start ?? 0, end: at };
  }
  return places;
}

/**
 * A field of addresses for display. An encoded word is a name or a part of one, whatever it holds (RFC 2047 sections 5 and 6.2):
 * `=?utf-8?q?Boss_=3Cboss=40bank.example=3E?= <a@b.example>` has one address, so what would read as another one is quoted. With
 * a quote or a bracket that has no end, words stay encoded.
 * @param value one character a byte
 */
export function decodeAddressField(value: string): string {
  const text = decodeCharset(value, undefined);
  const tokens = tokensOf(text);
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

const BRACKETS = /<([^<>]{0,1000})>/;

/** A list of mailboxes, or one, without quoted strings, other than local parts, and without comments. */
export function withoutNames(list: string): string {
  if (!/["(]/.test(list)) return list;
  const tokens = tokensOf(list);
  const isName = (token: string, next: string | undefined): boolean =>
    token.length > 1 && (token.startsWith('(') || (token.startsWith('"') && next !== '@'));
  return tokens.map((token, index) => (isName(token, tokens[index + 1]) ? ' ' : token)).join('');
}

/** The local parts of a list's addresses that are quoted strings (RFC 5321 section 4.1.2), with what stands around them in brackets. */
export function quotedLocalPartsIn(list: string): string[] {
  if (!list.includes('"@')) return [];
  const tokens = tokensOf(list);
  const isQuoted = (token: string, next: string | undefined): boolean =>
    token.length > 1 && (token.startsWith('"') ? next === '@' : isQuotedInBrackets(token));
  return tokens.filter((token, index) => isQuoted(token, tokens[index + 1]));
}

/** Within brackets it is no token of its own. */
function isQuotedInBrackets(token: string): boolean {
  return (
    token.startsWith('<') && token.slice(1).trimStart().startsWith('"') && token.lastIndexOf('"@') > token.indexOf('"')
  );
}

/** Whether a mailbox has at most one address in brackets: of `<a@b.example> <c@d.example>`, readers show the one or the other. */
export function isSingle(mailbox: string): boolean {
  return withoutNames(mailbox).split('<').length <= 2;
}

/**
 * The part of a mailbox in which its address is: within brackets, where there are any, else all but names and comments.
 * @param mailbox undecoded, so that no encoded word is taken for an address
 */
export function addressPartOf(mailbox: string): string {
  const bare = withoutNames(mailbox);
  return BRACKETS.exec(bare)?.[1] ?? bare;
}
