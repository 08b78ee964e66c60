import type { authenticate } from 'mailauth';

/** The class of mailauth that reads a message's header; its types are not published. */
interface Verifier {
  readonly prototype: { messageHeaders: (headers: Headers) => Promise<void>; readsExactly?: true };
}

interface Headers {
  readonly parsed: readonly { readonly line: Buffer }[];
}

const VERIFIER: string = 'mailauth/lib/dkim/dkim-verifier.js';

/** Bytes that `\s` of JavaScript takes for white space in a string of bytes, and RFC 6376 section 3.4.2 does not. */
const FALSE_SPACE = /[\v\f\xa0]/g;
/** A block without white space and without letters; the low byte of its characters is the byte that is meant. */
const STAND_INS = 0x2500;

/**
 * Loads mailauth, so that it takes only spaces and tabs for white space in header fields. Without that, a signature over a field with a
 * byte of 0xA0 fails: raw UTF-8, such as that of `à` or of some Cyrillic letters, has it.
 */
export async function loadMailauth(): Promise<typeof authenticate> {
  const [mailauth, { DkimVerifier }] = await Promise.all([
    import('mailauth'),
    import(VERIFIER) as Promise<{ readonly DkimVerifier: Verifier }>,
  ]);
  correct(DkimVerifier);
  return mailauth.authenticate;
}

/** Once in a process. Every field that is signed, DKIM's and ARC's, goes through this method. */
function correct({ prototype }: Verifier): void {
  if (prototype.readsExactly) return;
  const { messageHeaders } = prototype;
  prototype.readsExactly = true;
  prototype.messageHeaders = function readExactly(headers) {
    for (const { line } of headers.parsed) withStandIns(line);
    return messageHeaders.call(this, headers);
  };
}

/** For canonicalizing, the library asks a field for its bytes as characters, and makes bytes of the result again. */
function withStandIns(line: Buffer): void {
  const bytes = line.toString('latin1');
  const text = bytes.replace(FALSE_SPACE, (byte) => String.fromCharCode(STAND_INS + byte.charCodeAt(0)));
  if (text === bytes) return;
  const asUsual = line.toString.bind(line);
  line.toString = (encoding, ...range) => (encoding === 'binary' ? text : asUsual(encoding, ...range));
}
