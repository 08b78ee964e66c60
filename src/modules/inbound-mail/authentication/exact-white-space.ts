/** The class of mailauth that reads a message's header; its types are not published. */
interface Verifier {
  messageHeaders: (headers: { readonly parsed: readonly { readonly line: Buffer }[] }) => Promise<void>;
}

/**
 * Makes mailauth take only spaces and tabs for white space in header fields (RFC 6376 section 3.4.2). It uses `\s` of JavaScript on a string of
 * bytes, to which 0xA0, VT and FF are white space too: a signature over raw UTF-8 with such a byte, as `à` and some Cyrillic letters have,
 * fails. Every field that is signed, DKIM's and ARC's, goes through this method. The library asks a field for its bytes as characters, and makes
 * bytes of the low bytes of the result: characters of a block without white space and letters stand in for those three.
 *
 * Its text is part of the thread's program: it uses nothing from outside.
 * @param prototype of `DkimVerifier`
 */
export function readFieldsExactly(prototype: Verifier): void {
  const standIns = 0x2500;
  const { messageHeaders } = prototype;
  prototype.messageHeaders = function readExactly(headers) {
    for (const { line } of headers.parsed) {
      const bytes = line.toString('latin1');
      const text = bytes.replace(/[\v\f\xa0]/g, (byte) => String.fromCharCode(standIns + byte.charCodeAt(0)));
      if (text === bytes) continue;
      const asUsual = line.toString.bind(line);
      line.toString = (encoding, ...range) => (encoding === 'binary' ? text : asUsual(encoding, ...range));
    }
    return messageHeaders.call(this, headers);
  };
}
