/** Replaces an address within a text. */
export const REPLACEMENT = '[erased]';

/** Replaces an address where the syntax asks for one (RFC 2606 section 2). */
const ADDRESS = 'erased@erased.invalid';

/** Replaces a name: an address in it would need quotes. */
const NAME = 'erased';

/** Fields of addresses (RFC 5322 section 3.6): with a text in its place the message is invalid, and servers refuse it for everybody. */
const ADDRESS_FIELDS: ReadonlySet<string> = new Set(['from', 'to', 'cc', 'reply-to', 'sender']);

const FIELD = /^([!-9;-~]+)[ \t]*:/gm;

/**
 * Returns what replaces an address at each position of a raw message. Positions are asked for in ascending order.
 * @param domain of the address; that of a sender belongs to the customer and stays, as DMARC compares it
 */
export function replacementsIn(message: string, domain: string): (position: number) => string {
  const end = message.search(/(?:^|\n)\r?\n/);
  const header = end < 0 ? message : message.slice(0, end);
  const fields = header.matchAll(FIELD);
  let next = fields.next();
  let name = '';
  return (position) => {
    while (!next.done && next.value.index <= position) {
      name = (next.value[1] ?? '').toLowerCase();
      next = fields.next();
    }
    const isOfAddresses = position < header.length && ADDRESS_FIELDS.has(name.replace(/^resent-/, ''));
    if (!isOfAddresses) return REPLACEMENT;
    // Encoded words are names only (RFC 2047 section 5).
    if (message.startsWith('=?', position)) return NAME;
    return name === 'from' ? `erased@${domain}` : ADDRESS;
  };
}
