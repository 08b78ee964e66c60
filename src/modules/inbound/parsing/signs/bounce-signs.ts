import type { Sign } from './message-view';

/** Sentences of mail software that announce a failure without a delivery status, or in front of one. */
export const BOUNCE_SIGNS: readonly Sign[] = [
  { id: 'failed-recipients', header: 'x-failed-recipients' },
  {
    id: 'qmail',
    text: /this is the qmail-send program|wasn't able to deliver your message to the following addresses/i,
  },
  { id: 'messagelabs', text: /this is the mail delivery agent at/i },
  { id: 'exim', text: /this message was created automatically by (?:the )?(?:mail delivery software|mail system)/i },
  {
    id: 'sendmail',
    text: /the following addresses had|the following address had|following addresses had permanent|while talking to/i,
    subject: /returned mail|undeliver|delivery/i,
  },
  { id: 'postfix', text: /this is the postfix program at host|this is the mail system at host/i },
  { id: 'opensmtpd', text: /this is the mailer-daemon, please do not reply/i },
  {
    id: 'exchange',
    text: /did not reach the following recipient|did not reach some or all of|delivery has failed to these recipients|your message couldn't be delivered|your message to .{1,200} couldn't be delivered|imceaex|the e-mail account does not exist at the organization/i,
  },
  {
    id: 'exchange-localized',
    text: /konnte einige oder alle empfänger nicht erreichen|fehler bei der nachrichtenzustellung an folgende|n'a pas pu être remis|échec de la remise|no se pudo entregar el mensaje|error de entrega a estos destinatarios|non è stato possibile recapitare|impossibile recapitare|kan niet worden bezorgd|bezorging is mislukt|falha na entrega|não foi possível entregar|не удалось доставить|не было доставлено|doręczenie nie powiodło|kunde inte levereras|kunne ikke leveres|無法傳遞|无法传递|配信できません/i,
  },
  { id: 'domino', subject: /delivery failure: /i },
  { id: 'groupwise', text: /the message that you sent was undeliverable to the following/i },
  { id: 'google', text: /delivery to the following recipient failed permanently|your message wasn't delivered to/i },
  {
    id: 'yahoo',
    text: /we were unable to deliver your message to the following address|unable to deliver message to the following address/i,
  },
  {
    id: 'mdaemon',
    text: /failed to deliver your message|mdaemon has identified|attempts to deliver .{0,100}have failed/i,
  },
  { id: 'barracuda', text: /has not been delivered/i, subject: /message you sent blocked|blocked by our/i },
  { id: 'proofpoint', text: /your message was rejected by the recipient email system|proofpoint .{0,60}rejected/i },
  {
    id: 'courier',
    text: /following recipients cannot be delivered|this is a delivery status notification from .{1,100}/i,
  },
  {
    id: 'mailenable',
    text: /could not be delivered to some recipients|following recipient\(s\) could not be reached/i,
  },
  { id: 'xmail', text: /xmail bounce:/i },
  { id: 'communigate', text: /failed to deliver to '/i },
  { id: 'iplanet', text: /your message cannot be delivered to the following recipients/i },
  { id: 'smail', text: /no valid recipients were found for this message|message log follows/i },
  {
    id: 'gateway',
    text: /could not be delivered to one or more|cannot be delivered to the following|delivery to the following recipients failed/i,
  },
  {
    id: 'one-and-one',
    text: /the following address failed|the following addresses failed|following address\(es\) failed/i,
  },
  { id: 'provider-cn', text: /邮件被退回|退信|投递失败/ },
  { id: 'provider-jp', text: /メールの配信に失敗|宛先不明|送信できませんでした/ },
];

/** Weaker signs, believed only in messages that are no automatic answer of a person's mailbox. */
export const GENERIC_BOUNCE_SIGNS: readonly Sign[] = [
  {
    id: 'daemon',
    from: /mailer-daemon|mailerdaemon|postmaster|mail delivery|mail administrator|mail system|mdaemon/i,
    subject:
      /undeliver|undelivered|failure notice|failed|failure|returned mail|returned to sender|return to sender|could not be delivered|not delivered|bounce|delivery problem|delivery error|unzustellbar|non remis|no se puede entregar|non recapitabile|onbestelbaar|não entregue|недостав|не доставлен|niedostarcz|退信|配信/i,
  },
  {
    id: 'subject',
    subject:
      /^(?:undeliverable: |undeliverable mail|undelivered mail returned|undelivered message|failure notice|mail delivery failed|mail delivery failure|mail system error|delivery status notification|delivery failure|message delivery failure|permanent delivery failure|mail could not be delivered|returned mail: |unzustellbar: |non remis ?: |no se puede entregar: |non recapitabile: |onbestelbaar: |não entregue: |недоставлено: |niedostarczalne: )/i,
  },
];

/** Warnings in words: the sender goes on trying. */
export const DELAY_SIGNS: readonly Sign[] = [
  {
    id: 'still-trying',
    text: /this is a warning message only|do not need to resend your message|no action is required on your part|will continue to try|will keep trying|will be retried for|has not been delivered yet|has not yet been delivered|delivery attempts will continue|delivery will continue to be attempted|we'll keep trying|we will continue trying|wird weiterhin versucht|continuera à essayer|seguirá intentando/i,
  },
  {
    id: 'subject',
    subject:
      /delivery status notification \(delay\)|warning: could not send message for past|warning: message .{1,60} delayed|^delayed mail|^delivery delayed|message delayed|verzögert: |^retardé|^retrasado/i,
  },
];
