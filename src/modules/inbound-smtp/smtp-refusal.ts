/** Why something was refused; the label of a metric. */
export const REFUSAL_REASONS = [
  ...(['unknown-address', 'relay', 'too-many-refusals', 'too-large', 'too-many-connections', 'full'] as const),
  ...(['too-many-messages', 'too-many-recipients', 'no-room', 'unavailable'] as const),
] as const;

export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/**
 * A reply other than 2xx or 354. The enhanced codes (RFC 3463) are in the texts, because the library has only one for each
 * reply code and 550 needs two.
 */
export class SmtpRefusal extends Error {
  constructor(
    readonly reason: RefusalReason,
    readonly responseCode: number,
    text: string,
  ) {
    super(text);
    this.name = 'SmtpRefusal';
  }
}

/** One text for malformed, forged, expired and unknown addresses: it does not disclose what exists. */
export const unknownAddress = () => new SmtpRefusal('unknown-address', 550, '5.1.1 No such address here');

export const relayDenied = () => new SmtpRefusal('relay', 550, '5.7.1 Relaying denied: no such domain here');

export const tooManyRefusals = () => new SmtpRefusal('too-many-refusals', 421, '4.7.0 Too many refused recipients');

export const tooLarge = () => new SmtpRefusal('too-large', 552, '5.3.4 The message is too large');

/** An erasure finds mail by every address in its header, so the header is read as a whole; usual ones have 24 KiB at most. */
export const headerTooLong = () => new SmtpRefusal('too-large', 552, '5.3.4 The header is longer than 1 MiB');

export const tooMuchData = () => new SmtpRefusal('too-large', 421, '4.3.4 The message is far too large');

export const tooManyConnections = () => new SmtpRefusal('too-many-connections', 421, '4.3.2 Too many connections');

/** RFC 5321 section 4.2.3: insufficient storage. The client keeps the message and comes again. */
export const full = () => new SmtpRefusal('full', 452, '4.3.1 Too much mail to this address, try again later');

/** RFC 3463, X.2.2. What its owner has to do is in the text, since the client's bounce may be all that anybody reads. */
export const noRoomLeft = () =>
  new SmtpRefusal('no-room', 452, '4.2.2 Too much mail is stored for this address: its owner has to delete some');

export const tooManyMessages = () =>
  new SmtpRefusal('too-many-messages', 450, '4.7.1 Too many messages from your network, try again later');

/** RFC 5321 section 4.5.3.1.10: the client sends the message again to the recipients that are left. */
export const tooManyCopies = () =>
  new SmtpRefusal('too-many-recipients', 452, '4.5.3 Too many different recipients, send to the others separately');

/** No memory for one more large message just now. */
export const busy = () => new SmtpRefusal('unavailable', 452, '4.3.1 Too much mail at a time, try again later');

/** The disk is nearly full; the same for every address. */
export const noRoom = () => new SmtpRefusal('unavailable', 452, '4.3.1 Insufficient storage, try again later');

export const unavailable = () => new SmtpRefusal('unavailable', 451, '4.3.0 Temporarily unavailable');
