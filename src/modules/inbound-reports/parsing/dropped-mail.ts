import { hasAutoReplyField, precedencesOf } from '../../../common/mime/automatic-mail';
import { leavesOf, type MessagePart } from '../../../common/mime/mime-message';
import { looksLikeReturnPath } from '../../../delivery/tokens/return-path';
import { matchesPattern, type MessageView, type MessagePattern } from './message-view';
import { type IgnoreReason, PARSING_LIMITS } from './report';

/** Automatic replies to our mail on behalf of a person (RFC 3834). */
export const AUTO_REPLY_PATTERNS: readonly MessagePattern[] = [
  {
    id: 'subject-en',
    subject:
      /out of office|out of the office|out-of-office|automatic reply|automated reply|automatic response|auto-reply|auto reply|autoreply|auto-response|auto response|autoresponse|on vacation|vacation reply|away from my|on annual leave|on holiday|i am away/i,
  },
  {
    id: 'subject-western',
    subject:
      /abwesenheit|abwesend|nicht im büro|automatische antwort|im urlaub|réponse automatique|absence du bureau|absent du bureau|en vacances|respuesta automática|fuera de la oficina|fuera de oficina|ausente|risposta automatica|fuori sede|fuori ufficio|automatisch antwoord|afwezig|resposta automática|ausência temporária|fora do escritório/i,
  },
  {
    id: 'subject-northern',
    subject: /autosvar|automatiskt svar|automatisk svar|frånvaro|fraværende|automaattinen vastaus|poissa|poissaolo/i,
  },
  {
    id: 'subject-eastern',
    subject:
      /autoodpowiedź|automatyczna odpowiedź|nieobecno|automatická odpověď|mimo kancelář|automatikus válasz|автоответ|автоматический ответ|отсутств|otomatik yanıt|răspuns automat|αυτόματη απάντηση|自動応答|自動返信|不在|自动回复|自动答复|自動回覆|부재중|자동 회신|رد تلقائي/i,
  },
];

/** Systems that ask the sender to confirm. They never get a reply. */
export const CHALLENGE_PATTERNS: readonly MessagePattern[] = [
  {
    id: 'subject',
    subject:
      /please confirm your message|confirm your message|message awaiting confirmation|verification required|sender verification|authorization required|please verify your e-?mail|challenge\/response|waiting for your confirmation/i,
  },
  {
    id: 'text',
    text: /confirm that you are a (?:real person|human)|prove you are human|prove that you are human|being held until|to release your message|uses a service that verifies|this one-time confirmation|added to the approved senders|spamarrest|boxbe\.com/i,
  },
];

/** True for mail that goes in circles: too many hops, or ours, redirected to its own sender. */
export function isLoop({ fields }: MessagePart): boolean {
  return (
    fields.all('received').length > PARSING_LIMITS.receivedFields ||
    fields.all('return-path').some((sender) => looksLikeReturnPath(sender.replace(/^</, '')))
  );
}

/** Notices that a person has seen the mail (RFC 8098). */
export function isDispositionNotification(message: MessagePart): boolean {
  return (
    message.contentType.parameters.get('report-type')?.toLowerCase() === 'disposition-notification' ||
    leavesOf(message).some(({ contentType }) => contentType.type.endsWith('/disposition-notification'))
  );
}

/**
 * Whether a mailbox has written it, whatever sentences of mail software it quotes. Bounces call themselves automatic replies too
 * (RFC 3834 section 5), but have no sender.
 */
export function isReplyOfMailbox(view: MessageView): boolean {
  if (AUTO_REPLY_PATTERNS.some((pattern) => matchesPattern(pattern, view))) return true;
  const hasSender = !/^<>/.test(view.message.fields.first('return-path') ?? '<>');
  return hasSender && isAutoReply(view);
}

/** Why a message that is no report is dropped. Challenges call themselves automatic replies too, so they come first. */
export function whyDropped(view: MessageView): IgnoreReason | undefined {
  if (CHALLENGE_PATTERNS.some((pattern) => matchesPattern(pattern, view))) return 'challenge';
  return isAutoReply(view) ? 'auto-reply' : undefined;
}

function isAutoReply(view: MessageView): boolean {
  const { fields } = view.message;
  // RFC 3834 section 5: parameters may follow. Bounces and notices use `auto-generated`.
  const automatic = fields.first('auto-submitted')?.toLowerCase().startsWith('auto-replied') ?? false;
  return (
    automatic ||
    hasAutoReplyField(fields) ||
    precedencesOf(fields).some((value) => /^auto[_-]?reply/i.test(value)) ||
    AUTO_REPLY_PATTERNS.some((pattern) => matchesPattern(pattern, view))
  );
}
