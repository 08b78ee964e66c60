import { inTurns } from '../../../../common/async/text-in-turns';
import type { AcceptedEmail } from '../request/send-request';

/** Long bodies in pieces of UTF-8. */
export type EncodedBodies = ReadonlyMap<AcceptedEmail, Partial<Record<'html' | 'text', readonly Buffer[]>>>;

/** Characters; as many are encoded within some milliseconds. */
const LONG_BODY = 512 * 1024;
const NONE: EncodedBodies = new Map();

/**
 * Encodes long bodies for the database piece by piece, each in a turn of the event loop: 5 MiB that are not ASCII take tens of milliseconds.
 * Most emails have none.
 */
export async function encodedBodies(emails: readonly AcceptedEmail[]): Promise<EncodedBodies> {
  const long = emails.filter(({ command: { request } }) => isLong(request.html) || isLong(request.text));
  if (long.length === 0) return NONE;
  const encoded = new Map<AcceptedEmail, { html?: Buffer[]; text?: Buffer[] }>();
  for (const email of long) {
    const { organizationId, request } = email.command;
    const encode = (body: string) => inTurns(body, (piece) => Buffer.from(piece), organizationId);
    encoded.set(email, {
      ...(isLong(request.html) && { html: await encode(request.html) }),
      ...(isLong(request.text) && { text: await encode(request.text) }),
    });
  }
  return encoded;
}

function isLong(body: string | undefined): body is string {
  return body !== undefined && body.length > LONG_BODY;
}
