import type { SmtpPhase } from '../../ports/attempt-trace';

/**
 * What a reply is about. `mailbox`: the address or its domain. `full`: the mailbox's room. `policy`: a rule of the receiver.
 * `reputation`: the reputation of an address or a domain. `authentication`: SPF, DKIM, DMARC. `content`, `size`: the message.
 * `rate`: how much at a time. `infrastructure`: machines, routes, the protocol. `challenge`: the receiver asks for a retry
 * first, as in greylisting.
 */
export const REPLY_CLASSES = [
  ...(['mailbox', 'full', 'policy', 'reputation', 'authentication'] as const),
  ...(['content', 'rate', 'size', 'infrastructure', 'challenge'] as const),
] as const;
export type ReplyClass = (typeof REPLY_CLASSES)[number];

/**
 * What the engine does about it. The first three keep the delivery: `slow` means less traffic to the destination,
 * `suspend` none for a while. `bounce_and_suppress` is for addresses that are bad themselves, `bounce` for all else.
 */
export const REPLY_ACTIONS = ['retry', 'slow', 'suspend', 'bounce', 'bounce_and_suppress'] as const;
export type ReplyAction = (typeof REPLY_ACTIONS)[number];

/** Within a class; the `reason` of events. The first of a class is meant when a rule names none. */
export const REASONS = {
  mailbox: ['bad-mailbox', 'bad-domain', 'mailbox-disabled'],
  full: ['mailbox-full'],
  policy: ['policy', 'sender-rejected', 'unclassified'],
  reputation: ['reputation'],
  authentication: ['authentication'],
  content: ['content-rejected', 'protocol'],
  rate: ['rate-limited'],
  size: ['too-large'],
  infrastructure: ['temporary', 'routing', 'remote-system', 'protocol', 'relay-denied', 'credentials'],
  challenge: ['greylisted'],
} as const satisfies Record<ReplyClass, readonly string[]>;
export type ReplyReason = (typeof REASONS)[ReplyClass][number];

/** The command that was refused; all that comes before MAIL is `connect`. */
export const REPLY_STAGES = ['connect', 'mail', 'rcpt', 'data', 'final'] as const satisfies readonly SmtpPhase[];
export type ReplyStage = (typeof REPLY_STAGES)[number];

/** One row of the table. It matches when every condition that it states holds. */
export interface ReplyRule {
  /** Stable name; shown to operators and kept in events. */
  readonly id: string;
  /** Reply codes with `x` for any digit: `550`, `4xx`. */
  readonly codes: readonly string[];
  /** All stages when absent. */
  readonly stages?: readonly ReplyStage[] | undefined;
  /** Subject and detail of the enhanced code (RFC 3463), such as `1.1`, or a whole subject, such as `7.*`. */
  readonly enhanced?: readonly string[] | undefined;
  /** Sought in the text, in linear time whatever that is. */
  readonly matchesText?: ((text: string) => boolean) | undefined;
  readonly class: ReplyClass;
  readonly reason: ReplyReason;
  readonly action: ReplyAction;
  /** What a bounce counts as; that is not part of the reply. */
  readonly bounceType: 'hard' | 'soft';
  /** In plain words, for people. */
  readonly explanation?: string | undefined;
  /** Where its codes or its text were made public; absent of an operator's rule. */
  readonly source?: string | undefined;
  /** True for an operator's rule, which takes precedence. */
  readonly isOwn: boolean;
}

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

/** The reply is not about the recipient at that point. */
export function isBeforeRecipient(phase: SmtpPhase | undefined): boolean {
  const stage = stageOf(phase);
  return stage === 'connect' || stage === 'mail';
}

/**
 * What a sender can change: the list of recipients, the message, the set-up of its domain. The rest is between this
 * service, its network and the other side, as are timeouts, which have no class.
 */
const OF_THE_SENDER: ReadonlySet<string> = new Set<ReplyReason>([
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

/** Whether a bounce shows something about the sender. @param reason the reply's, or what else ended the delivery */
export function countsAgainstSender(reason: string): boolean {
  return OF_THE_SENDER.has(reason);
}
