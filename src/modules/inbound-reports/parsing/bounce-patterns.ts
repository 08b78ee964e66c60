import type { MessagePattern } from './message-view';

/** Sentences of mail software that announce a failure without a delivery status, or in front of one. */
export const BOUNCE_PATTERNS: readonly MessagePattern[] = [
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
    text: /konnte einige oder alle empfänger nicht erreichen|fehler bei der nachrichtenzustellung an folgende|n'a pas pu être remis|échec de la remise|no se pudo entregar el mensaje|error de entrega a estos destinatarios|non è stato possibile recapitare|impossibile recapitare|kan niet worden bezorgd|bezorging is mislukt|falha na entrega|não foi possível entregar|не удалось доставить|не было доставлено|doręczenie nie powiodło|kunde inte levereras|kunne ikke leveres|無法傳遞|无法传递|未能传递|配信できません|配信不能|levering mislykkedes|leveringen mislyktes|leveransen misslyckades|doručení těmto|teslim başarısız|배달하지 못했/i,
  },
  { id: 'domino', subject: /delivery failure: |zustellfehler: /i },
  { id: 'james', text: /error message below: 5/i },
  { id: 'mobile-gateway', text: /could not be delivered to mobile|recipients returned permanent errors/i },
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

/** Weaker patterns, used only in messages that are no automatic reply of a mailbox. */
export const GENERIC_BOUNCE_PATTERNS: readonly MessagePattern[] = [
  {
    id: 'daemon',
    from: /mailer-daemon|mailerdaemon|postmaster|mail delivery|mail administrator|mail system|mdaemon/i,
    subject:
      /undeliver|undelivered|failure notice|failed|failure|returned mail|returned to sender|return to sender|could not be delivered|not delivered|bounce|delivery problem|delivery error|unzustellbar|non remis|no se puede entregar|non recapitabile|onbestelbaar|não entregue|недостав|не доставлен|niedostarcz|nedoručiteln|kan inte levereras|kan ikke leveres|teslim edilemedi|배달되지 않음|未送达|退信|配信/i,
  },
  {
    id: 'subject',
    subject:
      /^(?:undeliverable: |undeliverable mail|undelivered mail returned|undelivered message|failure notice|mail delivery failed|mail delivery failure|mail system error|delivery status notification|delivery failure|message delivery failure|permanent delivery failure|mail could not be delivered|returned mail: |unzustellbar: |non remis ?: |no se puede entregar: |non recapitabile: |onbestelbaar: |não entregue: |недоставлено: |niedostarczalne: )/i,
  },
];

/** Warnings in words: the sender goes on trying. */
export const DELAY_PATTERNS: readonly MessagePattern[] = [
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

/** What a sentence means, as the reply that a server would have given. */
export interface FailurePhrase {
  readonly pattern: RegExp;
  readonly status: string;
}

/**
 * Sentences without an SMTP reply that the engine's table does not contain, because only bounce messages use them. The first
 * match decides; causes other than the address come first.
 */
export const FAILURE_PHRASES: readonly FailurePhrase[] = [
  {
    pattern:
      /blocked by our spam firewall|blocked by our bulk email filter|spam firewall|als spam|comme spam|como spam|como correo no deseado|垃圾邮件|被识别为垃圾/i,
    status: '5.7.1',
  },
  {
    pattern:
      /mailbox exceeds allowed size|mailbox size limit|mailbox has exceeded|mailbox quota|mailbox disk quota|message would exceed|postfach ist voll|postfach des empfängers ist voll|boîte aux lettres est pleine|boite de reception est pleine|buzón está lleno|buzón de correo del destinatario está lleno|casella .{0,40}piena|postvak .{0,40}vol|caixa de correio .{0,40}cheia|ящик переполнен|почтовый ящик .{0,40}переполнен|skrzynka .{0,40}pełna|邮箱已满|邮箱空间不足|受信箱がいっぱい|no disk space/i,
    status: '5.2.2',
  },
  {
    pattern:
      /message too large|larger than the current system limit|nachricht ist zu groß|message est trop volumineux/i,
    status: '5.3.4',
  },
  {
    pattern:
      /retry timeout exceeded|retry time not reached|could not be delivered for too long|maximum time in queue|message expired|queue\.expired|giving up on|gave up trying|connection timed out|connection refused|no route to host|too old|kept trying for|i wasn't able to establish an smtp connection|unable to connect|timed out while/i,
    status: '4.4.7',
  },
  {
    pattern:
      /couldn't find any host named|couldn't find a mail exchanger|host not found|no mx record|domain .{0,100}couldn't be found|because the domain .{0,100}couldn't|name service error|unrouteable mail domain|all relevant mx records point to non-existent hosts|name or service not known|domain n'existe pas|dominio no existe/i,
    status: '5.4.4',
  },
  {
    pattern:
      /mailbox is disabled|account is disabled|account has been disabled|mailbox disabled|account that you tried to reach is disabled|account is inactive|postfach ist deaktiviert|boîte aux lettres désactivée|cuenta está deshabilitada|ящик отключен|ящик заблокирован|邮箱已停用/i,
    status: '5.2.1',
  },
  {
    pattern:
      /user .{1,100} not listed in|account does not exist at the organization|wasn't found at|address couldn't be found|couldn't be found or is unable to receive|no mailbox by that name|no mailbox here by that name|no such mailbox|no account by that name|user is unknown|local user unknown|unknown local user|\(user not found\)|name not found|mailbox unknown|not our customer|account not found|user or domain unknown|no valid recipients|doesn't exist|does not exist|not a known user|invalid final delivery user|e-mail-adresse .{0,100}nicht gefunden|adresse .{0,100}existiert nicht|empfänger .{0,60}unbekannt|benutzer unbekannt|adresse .{0,100}introuvable|utilisateur inconnu|destinataire inconnu|n'existe pas|no se encontró la dirección|usuario desconocido|no existe|indirizzo .{0,100}non trovato|utente sconosciuto|non esiste|kan niet worden gevonden|bestaat niet|não foi encontrado|usuário desconhecido|não existe|пользователь не найден|такого пользователя нет|не существует|nie istnieje|finns inte|findes ikke|不存在|查无此人|用户不存在|宛先不明|存在しません|nicht im domino-verzeichnis|impossibile trovare l'indirizzo|nie można znaleźć .{0,40}adresu|адрес .{0,60}не найден|アドレスが見つかりません|找不到您输入的|找不到您輸入的|주소를 찾을 수 없|adresi bulunamadı|e-postadressen .{0,60}kunde inte hittas|adresse.{0,60} ikke f[ou]n.{1,3}|adresa nebyla nalezena/i,
    status: '5.1.1',
  },
];
