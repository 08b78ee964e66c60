import type { SmtpPhase } from '../ports/smtp-phase';

/**
 * What a reply is about.
 * Of the recipient: `bad-mailbox`, `bad-domain`, `mailbox-full`, `mailbox-disabled`.
 * Of the sender: `policy`, `reputation`, `authentication` (SPF, DKIM, DMARC), `sender-rejected`, `relay-denied`,
 * `credentials` (our own log-in at a relay). Of the message: `too-large`, `content-rejected`.
 * Of the moment or the machines: `rate-limited`, `greylisted`, `routing`, `remote-system`, `protocol`, `temporary`.
 */
export type ReplyClass =
  | 'bad-mailbox'
  | 'bad-domain'
  | 'mailbox-full'
  | 'mailbox-disabled'
  | 'policy'
  | 'reputation'
  | 'authentication'
  | 'sender-rejected'
  | 'relay-denied'
  | 'credentials'
  | 'too-large'
  | 'content-rejected'
  | 'rate-limited'
  | 'greylisted'
  | 'routing'
  | 'remote-system'
  | 'protocol'
  | 'temporary'
  | 'unclassified';

/**
 * What the engine does about it. The first three keep the delivery: `slow` means less traffic to the destination,
 * `suspend` none for a while. `bounce-hard-suppress` is for addresses that are bad themselves, `bounce-hard` for permanent
 * faults that may not be the address's own, `bounce-soft` for all else.
 */
export type ReplyAction = 'retry' | 'slow' | 'suspend' | 'bounce-hard-suppress' | 'bounce-hard' | 'bounce-soft';

/** The command that was refused; all that comes before MAIL is `connect`. */
export type ReplyStage = Extract<SmtpPhase, 'connect' | 'mail' | 'rcpt' | 'data' | 'final'>;

/** One row of the table. It matches when every condition that it states holds. */
export interface ReplyRule {
  /** Stable name; shown to operators and kept in events. */
  readonly id: string;
  /** First and last reply code, inclusive. */
  readonly codes: readonly [number, number];
  /** All stages when absent. */
  readonly stages?: readonly ReplyStage[];
  /** Subject and detail of the enhanced code (RFC 3463), such as `1.1`, or a whole subject, such as `7.*`. */
  readonly enhanced?: readonly string[];
  /** Sought in the text. Alternatives of plain words only: a repetition could take more than linear time. */
  readonly text?: RegExp;
  readonly class: ReplyClass;
  readonly action: ReplyAction;
}

/** Rows share two ranges: RFC 5321 section 4.2.1 gives the first digit the last word. */
export const TEMPORARY: readonly [number, number] = [400, 499];
export const PERMANENT: readonly [number, number] = [500, 599];

/** The stage of a phase. Unknown counts as `connect`, where nothing is suppressed and nothing bounces at first sight. */
export function stageOf(phase: SmtpPhase | undefined): ReplyStage {
  switch (phase) {
    case 'mail':
    case 'rcpt':
    case 'data':
    case 'final':
      return phase;
    case undefined:
    case 'dns':
    case 'connect':
    case 'greeting':
    case 'tls':
    case 'auth':
      return 'connect';
  }
}

/** Nothing has been said of the recipient by then. */
export function isBeforeRecipient(phase: SmtpPhase | undefined): boolean {
  const stage = stageOf(phase);
  return stage === 'connect' || stage === 'mail';
}

/**
 * What a sender can change: the list of recipients, the message, the set-up of its domain. The rest is between this
 * service, its network and the other side, as are timeouts, which have no class.
 */
const OF_THE_SENDER: ReadonlySet<string> = new Set<ReplyClass>([
  'bad-mailbox',
  'bad-domain',
  'mailbox-full',
  'mailbox-disabled',
  'policy',
  'authentication',
  'sender-rejected',
  'too-large',
  'content-rejected',
  'unclassified',
]);

/** Whether a bounce says something of who sends. @param reason the class, or what else ended the delivery */
export function countsAgainstSender(reason: string): boolean {
  return OF_THE_SENDER.has(reason);
}

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

/**
 * The envelope sender is what the server dislikes. Exim calls the sender's host back and repeats what that said, so that
 * such replies hold whole sentences about unknown users, and only one line tells whose.
 */
export const SENDER_ADDRESS_REFUSED =
  /sender address rejected|sender address is|sender address not|sender verify|sender verification|verify sender|verify the sender|sender callout|callback setup failed|postmaster verification failed|sender domain|domain of sender|sender denied|sender rejected|sender is rejected|sender refused|sender blocked|sender unknown|sender not found|sender does not exist|invalid sender|unknown sender|no such sender|banned sender|bad outbound sender|bad sender|invalid return path|return path rejected|mail from rejected|mail from refused|invalid dns mx|unresolvable from domain|unresolvable rfc.5321|your account is|your account has been|sender account/i;

/** What the message or the sender's own domain is known for: other senders' mail is none the worse for it. */
export const BAD_DOMAIN_REPUTATION =
  /\bdbl\b|\bsurbl\b|\buribl\b|\bivmuri\b|blacklisted url|blocked url|listed url|domain is block|domain is listed|domain block ?list|domain present in|reputation of the sending domain|reputation of the domain|domain reputation|domain has a low|domain has a bad|domain has a poor/i;

/** One mailbox gets too much, from everybody together. */
export const RECIPIENT_RATE =
  /receiving mail too quickly|receiving mail at a rate|receiving too many messages|received too many messages|deferred due to excessive volume/i;

/** Words of the moment in a reply that claims to be permanent. */
export const ONLY_FOR_NOW =
  /greylist|graylist|grey-list|temporarily (?:disabled|unavailable|suspended|locked|blocked|rejected|refused|deferred|restricted|closed)|try again later|try later|retry later|at a later time|come back later/i;

/** What is held against the sender's past behaviour. */
export const BAD_REPUTATION =
  /reputation|unsolicited mail|unusual rate of mail|user complaints|permanently deferred|banned sending ip|blocked - see|client host rejected: blocked|spam abuse/i;

/** Storage of the mailbox is used up. */
export const NO_ROOM =
  /mailbox full|mailbox is full|inbox is full|over quota|overquota|quota exceeded|exceeded quota|exceeds quota|exceeded storage|over storage quota|storage full|out of storage|storage limit|allowed storage|too many messages on the server/i;

/** No mailbox by that name. */
export const NO_SUCH_MAILBOX =
  /user unknown|unknown user|no such user|user not found|user does not exist|user doesn't exist|this user doesn't have a|no such recipient|recipient unknown|unknown recipient|recipient not found|recipientnotfound|invalid recipient|recipient does not exist|no such mailbox|no mailbox here|mailbox not found|mailbox does not exist|invalid mailbox|not a valid mailbox|unrouteable address|unknown local part|unknown address|address unknown|address not found|address does not exist|invalid address|no such address|no such person|account not found|account does not exist|unknown account|reach does not exist|not a known user|not listed in domino directory|nicht bekannt/i;
