import { leavesOf, type MessagePart } from './mime/split-message';
import { PARSING_LIMITS } from './parsing-limits';
import type { IgnoreReason } from './report';
import { AUTO_REPLY_FIELDS, AUTO_REPLY_SIGNS, CHALLENGE_SIGNS } from './signs/dropped-signs';
import { matchesSign, type MessageView } from './signs/message-view';

/** Our own envelope senders (VERP): mail that carries one as its sender is our mail coming back. */
const OWN_RETURN_PATH = /^<?b\+[a-z2-7]{55}@/i;

/** True for mail that goes in circles: too many hops, or ours, redirected to its own sender. */
export function isLoop({ fields }: MessagePart): boolean {
  return (
    fields.all('received').length > PARSING_LIMITS.receivedFields ||
    fields.all('return-path').some((sender) => OWN_RETURN_PATH.test(sender))
  );
}

/** Notices that a person has seen the mail (RFC 8098). */
export function isDispositionNotification(message: MessagePart): boolean {
  return (
    message.contentType.parameters.get('report-type')?.toLowerCase() === 'disposition-notification' ||
    leavesOf(message).some(({ contentType }) => contentType.type.endsWith('/disposition-notification'))
  );
}

/** Why a message that is no report is dropped. Challenges call themselves automatic replies too, so they come first. */
export function whyDropped(view: MessageView): IgnoreReason | undefined {
  if (CHALLENGE_SIGNS.some((sign) => matchesSign(sign, view))) return 'challenge';
  return isAutoReply(view) ? 'auto-reply' : undefined;
}

function isAutoReply(view: MessageView): boolean {
  const { fields } = view.message;
  // RFC 3834 section 5: parameters may follow. `auto-generated` is what bounces and notices say.
  const automatic = fields.first('auto-submitted')?.toLowerCase().startsWith('auto-replied') ?? false;
  const precedence = [...fields.all('precedence'), ...fields.all('x-precedence')];
  return (
    automatic ||
    fields.has(...AUTO_REPLY_FIELDS) ||
    precedence.some((value) => /^auto[_-]?reply/i.test(value)) ||
    AUTO_REPLY_SIGNS.some((sign) => matchesSign(sign, view))
  );
}
