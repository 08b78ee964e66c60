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
