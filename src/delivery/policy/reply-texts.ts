/** Word lists that rows for temporary and for permanent replies share. */

/** Public and private lists of bad senders: Spamhaus, SpamCop, Barracuda and the providers' own. */
export const ON_A_BLOCKLIST =
  /spamhaus|spamcop|barracudacentral|\bsorbs\b|uceprotect|abusix|invaluement|dnsbl|\brbl\b|block ?list|blacklist|black list|block listed|blocked using|listed at /i;

/** Domain authentication of the sender: SPF (RFC 7208), DKIM (RFC 6376), DMARC (RFC 7489). */
export const UNAUTHENTICATED_DOMAIN =
  /\bspf\b|\bdkim\b|\bdmarc\b|sender policy framework|unauthenticated (?:email|mail)|sender is unauthenticated/i;

/** The connecting address lacks a name, or the name does not lead back (RFC 1912 section 2.1). */
export const NO_REVERSE_NAME =
  /ptr record|reverse dns|reverse lookup|\brdns\b|cannot find your hostname|cannot find your reverse hostname|no reverse name/i;

/** The envelope sender is what the server dislikes. */
export const SENDER_ADDRESS_REFUSED =
  /sender address rejected|sender verify failed|sender verification failed|sender domain|sender denied|sender rejected|sender is rejected|invalid sender|unknown sender|unresolvable from domain|unresolvable rfc.5321|your account is|your account has been|sender account/i;

/** Judgements on the sender's past behaviour. */
export const BAD_REPUTATION =
  /reputation|unsolicited mail|unusual rate of mail|user complaints|permanently deferred|banned sending ip|banned sender|bad outbound sender|blocked - see|client host rejected: blocked|spam abuse/i;

/** Storage of the mailbox is used up. */
export const NO_ROOM =
  /mailbox full|mailbox is full|inbox is full|over quota|overquota|quota exceeded|exceeded quota|exceeds quota|exceeded storage|over storage quota|storage full|out of storage|storage limit|allowed storage|too many messages on the server/i;

/** Nobody by that name. */
export const NO_SUCH_MAILBOX =
  /user unknown|unknown user|no such user|user not found|user does not exist|user doesn't exist|this user doesn't have a|no such recipient|recipient unknown|unknown recipient|recipient not found|recipientnotfound|invalid recipient|recipient does not exist|no such mailbox|no mailbox here|mailbox not found|mailbox does not exist|invalid mailbox|not a valid mailbox|unrouteable address|unknown local part|unknown address|address unknown|address not found|address does not exist|invalid address|no such address|no such person|account not found|account does not exist|unknown account|reach does not exist|not a known user|not listed in domino directory|nicht bekannt/i;
