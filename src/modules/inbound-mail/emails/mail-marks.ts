import { hasAutoReplyField, precedencesOf } from '../../../common/mime/automatic-mail';
import type { HeaderFields } from '../../../common/mime/mime-message';
import { looksLikeReturnPath } from '../../../delivery/tokens/return-path';

/**
 * Why it should get no automatic reply. `auto_submitted`: written by one (RFC 3834); `bulk`: by its Precedence; `list`: from a
 * mailing list (RFC 2919); `own`: mail of this service that came back; `loop`: it has passed too many servers.
 */
export const MAIL_MARKS = ['auto_submitted', 'bulk', 'list', 'own', 'loop'] as const;

export type MailMark = (typeof MAIL_MARKS)[number];

/** RFC 5321 section 6.3 asks for a limit of at least 100 hops; real mail takes ten. */
const MAX_HOPS = 50;
/** Fields of mailing lists (RFC 2919, RFC 2369). */
const LIST_FIELDS = ['list-id', 'list-post', 'list-unsubscribe', 'list-help', 'list-archive'] as const;
/** Of emails that the engine composes. */
const OWN_MESSAGE_ID = /^<([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})@/;

/** Why mail should get no automatic reply, by its own header. */
export function marksOf(fields: HeaderFields, envelopeFrom: string): MailMark[] {
  const marks: Record<Exclude<MailMark, 'own'>, boolean> = {
    auto_submitted: isAutoSubmitted(fields, envelopeFrom),
    bulk: isBulk(fields),
    list: fields.has(...LIST_FIELDS),
    loop: fields.all('received').length > MAX_HOPS || looksLikeReturnPath(envelopeFrom),
  };
  return (Object.keys(marks) as (keyof typeof marks)[]).filter((mark) => marks[mark]);
}

/** The email's id, if the Message-ID has our form; the email may not exist. */
export function ownEmailId(fields: HeaderFields): string | undefined {
  return OWN_MESSAGE_ID.exec(fields.first('message-id') ?? '')?.[1];
}

/** RFC 3834 section 5: parameters may follow. The null sender stands for bounces and notices (RFC 5321 section 4.5.5). */
function isAutoSubmitted(fields: HeaderFields, envelopeFrom: string): boolean {
  const field = fields.first('auto-submitted')?.trim().toLowerCase();
  return envelopeFrom === '' || (field !== undefined && !/^no\b/.test(field)) || hasAutoReplyField(fields);
}

function isBulk(fields: HeaderFields): boolean {
  return precedencesOf(fields).some((value) => /^\s{0,10}(?:bulk|junk|list|auto[_-]?reply)\b/i.test(value));
}
