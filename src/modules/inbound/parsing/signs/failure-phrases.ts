/** What a sentence means, as the reply that a server would have given. */
export interface FailurePhrase {
  readonly pattern: RegExp;
  readonly status: string;
}

/**
 * Sentences without an SMTP reply that the engine's table does not know, because only bounce messages use them.
 * The first row that a text matches decides; what does not blame the address comes first.
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
      /user .{1,100} not listed in|account does not exist at the organization|wasn't found at|address couldn't be found|couldn't be found or is unable to receive|no mailbox by that name|no mailbox here by that name|no such mailbox|no account by that name|user is unknown|local user unknown|unknown local user|\(user not found\)|name not found|mailbox unknown|not our customer|account not found|user or domain unknown|no valid recipients|doesn't exist|does not exist|not a known user|invalid final delivery user|e-mail-adresse .{0,100}nicht gefunden|adresse .{0,100}existiert nicht|empfänger .{0,60}unbekannt|benutzer unbekannt|adresse .{0,100}introuvable|utilisateur inconnu|destinataire inconnu|n'existe pas|no se encontró la dirección|usuario desconocido|no existe|indirizzo .{0,100}non trovato|utente sconosciuto|non esiste|kan niet worden gevonden|bestaat niet|não foi encontrado|usuário desconhecido|não existe|пользователь не найден|такого пользователя нет|не существует|nie istnieje|finns inte|findes ikke|不存在|查无此人|用户不存在|宛先不明|存在しません/i,
    status: '5.1.1',
  },
];
