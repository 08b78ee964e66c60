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
 * What the engine does about it. The two retries keep the delivery; `bounce-hard-suppress` is for addresses that are
 * bad themselves, `bounce-hard` for permanent faults that may not be the address's own, `bounce-soft` for all else.
 */
export type ReplyAction =
  'retry' | 'retry-and-throttle-destination' | 'bounce-hard-suppress' | 'bounce-hard' | 'bounce-soft';

/** How far a conversation had come: before RCPT, at RCPT, or with the message itself. */
export type ReplyStage = 'session' | 'recipient' | 'message';

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

/**
 * Phases by the names that `SmtpFacts.phase` carries. A name that is missing here counts as `session`, the stage in
 * which nothing is suppressed and nothing bounces at first sight.
 */
const STAGE_OF_PHASE: ReadonlyMap<string, ReplyStage> = new Map<string, ReplyStage>([
  ['connect', 'session'],
  ['banner', 'session'],
  ['ehlo', 'session'],
  ['helo', 'session'],
  ['starttls', 'session'],
  ['tls', 'session'],
  ['auth', 'session'],
  ['mail', 'session'],
  ['rcpt', 'recipient'],
  ['data', 'message'],
  ['body', 'message'],
  ['block', 'message'],
  ['message', 'message'],
  ['dot', 'message'],
  ['final-dot', 'message'],
]);

/** The stage of a phase; `session` when the phase is unknown. */
export function stageOfPhase(phase: string | undefined): ReplyStage {
  return STAGE_OF_PHASE.get(phase?.toLowerCase() ?? '') ?? 'session';
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

/** The envelope sender is what the server dislikes. */
export const SENDER_ADDRESS_REFUSED =
  /sender address rejected|sender verify failed|sender verification failed|sender domain|sender denied|sender rejected|sender is rejected|invalid sender|unknown sender|unresolvable from domain|unresolvable rfc.5321|your account is|your account has been|sender account/i;

/** What is held against the sender's past behaviour. */
export const BAD_REPUTATION =
  /reputation|unsolicited mail|unusual rate of mail|user complaints|permanently deferred|banned sending ip|banned sender|bad outbound sender|blocked - see|client host rejected: blocked|spam abuse/i;

/** Storage of the mailbox is used up. */
export const NO_ROOM =
  /mailbox full|mailbox is full|inbox is full|over quota|overquota|quota exceeded|exceeded quota|exceeds quota|exceeded storage|over storage quota|storage full|out of storage|storage limit|allowed storage|too many messages on the server/i;

/** No mailbox by that name. */
export const NO_SUCH_MAILBOX =
  /user unknown|unknown user|no such user|user not found|user does not exist|user doesn't exist|this user doesn't have a|no such recipient|recipient unknown|unknown recipient|recipient not found|recipientnotfound|invalid recipient|recipient does not exist|no such mailbox|no mailbox here|mailbox not found|mailbox does not exist|invalid mailbox|not a valid mailbox|unrouteable address|unknown local part|unknown address|address unknown|address not found|address does not exist|invalid address|no such address|no such person|account not found|account does not exist|unknown account|reach does not exist|not a known user|not listed in domino directory|nicht bekannt/i;
