/** The phase of a transaction that a behaviour changes: the reply to a command, or to the final dot. */
export type SinkPhase = 'mail' | 'rcpt' | 'data' | 'body' | 'dot';

/** What the sink does at one phase of one message instead of accepting. */
export type SinkBehaviour =
  | { readonly phase: SinkPhase; readonly act: 'reply'; readonly line: string }
  | { readonly phase: SinkPhase; readonly act: 'close' | 'hang' | 'reset' }
  | { readonly phase: 'dot'; readonly act: 'accept-then-reset' | 'accept-then-close' }
  | { readonly phase: 'rcpt'; readonly act: 'greylist' }
  /** Replies in these phases are delayed by this time; by an infinite one until the test releases them. */
  | { readonly act: 'delay'; readonly phases: readonly SinkPhase[]; readonly delayMs: number };

const REPLY = /^(mail|rcpt|data|dot)-([2-5]\d\d)(?:-(\d\.\d+\.\d+))?$/;
const BREAK = /^(close|hang|reset)-(?:at|in|after)-(mail|rcpt|data|dot)$/;
const DELAY = /^(slow|250-late)-(\d+)$/;

/** Replies of several lines, as Gmail and Exim write them: the last line is the least of them. */
const LONG_REPLIES = {
  rate: [
    '550-5.2.1 The user you are trying to contact is receiving mail at a rate that',
    '550-5.2.1 prevents additional messages from being delivered. For more',
    '550 5.2.1 information, please visit https://support.example.com/?p=ReceivingRate',
  ].join('\r\n'),
  senderVerify: [
    '550-Verification failed for <bounce@example.org>',
    '550-No Such User Here',
    '550 Sender verify failed',
  ].join('\r\n'),
  blocklist: [
    '554-5.7.1 Service unavailable; Client host [192.0.2.25] blocked using zen.spamhaus.org',
    '554 5.7.1 https://check.example.com/192.0.2.25',
  ].join('\r\n'),
};

const NAMED: Readonly<Record<string, SinkBehaviour>> = {
  'close-in-data': { phase: 'body', act: 'close' },
  'hang-in-data': { phase: 'body', act: 'hang' },
  'reset-in-data': { phase: 'body', act: 'reset' },
  '250-then-rst': { phase: 'dot', act: 'accept-then-reset' },
  '250-then-close': { phase: 'dot', act: 'accept-then-close' },
  '250-held': { act: 'delay', phases: ['dot'], delayMs: Infinity },
  'rcpt-450-greylist': { phase: 'rcpt', act: 'greylist' },
  'rcpt-451-connections': {
    phase: 'rcpt',
    act: 'reply',
    line: '451 4.7.652 Too many concurrent connections from your host',
  },
  'rcpt-550-rate': { phase: 'rcpt', act: 'reply', line: LONG_REPLIES.rate },
  'rcpt-550-sender-verify': { phase: 'rcpt', act: 'reply', line: LONG_REPLIES.senderVerify },
  'rcpt-554-blocklist': { phase: 'rcpt', act: 'reply', line: LONG_REPLIES.blocklist },
  'dot-554-blocklist': { phase: 'dot', act: 'reply', line: LONG_REPLIES.blocklist },
};

/**
 * The behaviour that a local part names, up to a `+`; none for ordinary names.
 *
 * - `<mail|rcpt|data|dot>-<code>[-<enhanced code>]`: that reply, e.g. `rcpt-550-5.1.1`, `dot-451`; 421 closes as well
 * - `<close|hang|reset>-<at|after>-<mail|rcpt|data|dot>`: instead of the reply, e.g. `close-after-dot`, `hang-at-rcpt`
 * - `<close|hang|reset>-in-data`: at the first bytes of the message
 * - `250-then-rst`, `250-then-close`: accepts, then ends the connection
 * - `rcpt-450-greylist`: refuses each recipient once
 * - `rcpt-451-connections`: wants fewer of us
 * - `rcpt-550-rate`, `rcpt-550-sender-verify`, `<rcpt|dot>-554-blocklist`: replies of several lines
 * - `slow-<ms>`: delays every reply from RCPT on; `250-late-<ms>`: only the last one; `250-held`: that one until `release()`
 */
export function behaviourOf(localPart: string): SinkBehaviour | undefined {
  if (!localPart.includes('-')) return undefined;
  const name = localPart.replace(/\+.*$/, '').toLowerCase();
  if (Object.hasOwn(NAMED, name)) return NAMED[name];
  const [, replyPhase, code, enhanced] = REPLY.exec(name) ?? [];
  if (replyPhase !== undefined) {
    const line = [code, enhanced, 'as the recipient asked'].filter(Boolean).join(' ');
    return { phase: replyPhase as SinkPhase, act: 'reply', line };
  }
  const [, act, breakPhase] = BREAK.exec(name) ?? [];
  if (act !== undefined) return { phase: breakPhase as SinkPhase, act: act as 'close' | 'hang' | 'reset' };
  const [, kind, ms] = DELAY.exec(name) ?? [];
  if (kind === undefined) return undefined;
  return { act: 'delay', phases: kind === 'slow' ? ['rcpt', 'data', 'dot'] : ['dot'], delayMs: Number(ms) };
}
