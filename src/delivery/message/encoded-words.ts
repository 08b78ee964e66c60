/** RFC 2047 section 2: a word has at most 75 characters, these 12 of them around the content. */
const MAX_WORD = 75;
const AROUND = '=?utf-8?Q??='.length;
/** Section 5 (3): what Q may leave as it is in a display name, which is the strictest place. */
const Q_LITERAL = /^[A-Za-z0-9!*+/-]$/;

interface WordEncoding {
  /** What a character adds to the measure of a word. */
  weigh(character: string): number;
  /** Characters of content that a measure comes to. */
  sizeOf(weight: number): number;
  encode(text: string): string;
}

const Q: WordEncoding = {
  weigh: (character) => (Q_LITERAL.test(character) || character === ' ' ? 1 : 3 * Buffer.byteLength(character)),
  sizeOf: (weight) => weight,
  encode: (text) => `=?utf-8?Q?${Array.from(text, encodeQ).join('')}?=`,
};

const B: WordEncoding = {
  weigh: (character) => Buffer.byteLength(character),
  sizeOf: (bytes) => Math.ceil(bytes / 3) * 4,
  encode: (text) => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`,
};

/**
 * Encodes text as encoded-words (RFC 2047) in UTF-8, in whichever of B and Q is shorter, never splitting a character.
 * Readers drop the white space between two words, so the caller may put any there.
 *
 * @param firstRoom characters that the first word may have, at most 75
 */
export function encodeWords(text: string, firstRoom: number): string[] {
  const encoding = shorterFor(text);
  const words: string[] = [];
  let room = Math.min(MAX_WORD, firstRoom) - AROUND;
  let content = '';
  let weight = 0;
  for (const character of text) {
    const added = encoding.weigh(character);
    if (content !== '' && encoding.sizeOf(weight + added) > room) {
      words.push(encoding.encode(content));
      room = MAX_WORD - AROUND;
      content = '';
      weight = 0;
    }
    content += character;
    weight += added;
  }
  words.push(encoding.encode(content));
  return words;
}

function shorterFor(text: string): WordEncoding {
  let weight = 0;
  for (const character of text) weight += Q.weigh(character);
  return weight <= B.sizeOf(Buffer.byteLength(text)) ? Q : B;
}

function encodeQ(character: string): string {
  if (Q_LITERAL.test(character)) return character;
  if (character === ' ') return '_';
  return Buffer.from(character).toString('hex').toUpperCase().replace(/../g, '=$&');
}
