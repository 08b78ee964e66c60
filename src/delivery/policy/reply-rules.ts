import { PERMANENT_REPLY_RULES } from './permanent-reply-rules';
import {
  BAD_DOMAIN_REPUTATION,
  BAD_REPUTATION,
  NO_REVERSE_NAME,
  NO_ROOM,
  ON_A_BLOCKLIST,
  PERMANENT,
  RECIPIENT_RATE,
  type ReplyRule,
  SENDER_ADDRESS_REFUSED,
  TEMPORARY,
  UNAUTHENTICATED_DOMAIN,
} from './reply-rule';

/** Rows for 4xx replies, in order: all retry, and those that speak of our traffic slow the whole destination. */
const TEMPORARY_REPLY_RULES: readonly ReplyRule[] = [
  {
    id: 'greylisted',
    codes: TEMPORARY,
    text: /greylist|graylist|grey list|gray list|grey-list|gray-list/i,
    class: 'greylisted',
    action: 'retry',
  },
  {
    // Of one sender's domain: no reason to slow down for the others.
    id: 'domain-authentication-deferred',
    codes: TEMPORARY,
    text: UNAUTHENTICATED_DOMAIN,
    class: 'authentication',
    action: 'retry',
  },
  {
    // One mailbox gets too much: no reason to slow down for its neighbours.
    id: 'recipient-rate',
    codes: TEMPORARY,
    text: RECIPIENT_RATE,
    class: 'rate-limited',
    action: 'retry',
  },
  {
    id: 'domain-reputation-deferred',
    codes: TEMPORARY,
    text: BAD_DOMAIN_REPUTATION,
    class: 'reputation',
    action: 'retry',
  },
  {
    id: 'blocklist-deferred',
    codes: TEMPORARY,
    text: ON_A_BLOCKLIST,
    class: 'reputation',
    action: 'slow',
  },
  { id: 'reverse-name-deferred', codes: TEMPORARY, text: NO_REVERSE_NAME, class: 'reputation', action: 'slow' },
  {
    id: 'reputation-deferred',
    codes: TEMPORARY,
    text: BAD_REPUTATION,
    class: 'reputation',
    action: 'slow',
  },
  { id: 'mailbox-full-code-deferred', codes: TEMPORARY, enhanced: ['2.2'], class: 'mailbox-full', action: 'retry' },
  { id: 'mailbox-full-deferred', codes: TEMPORARY, text: NO_ROOM, class: 'mailbox-full', action: 'retry' },
  {
    // A limit per transaction (RFC 5321 section 4.5.3.1.10), met by the next transaction.
    id: 'too-many-recipients',
    codes: TEMPORARY,
    enhanced: ['5.3'],
    class: 'protocol',
    action: 'retry',
  },
  {
    id: 'rate-limited-deferred',
    codes: TEMPORARY,
    text: /rate limit|rate-limit|rate limited|too many|too much|too quickly|throttl|limit exceeded|limit reached|exceeded the|server busy|slow down|access denied, please try again later|max message per connection/i,
    class: 'rate-limited',
    action: 'slow',
  },
  {
    // Greylisting that does not name itself, as Mimecast and Plesk put it.
    id: 'greylisting-unnamed',
    codes: [450, 451],
    text: /internal resources are temporarily unavailable|service unavailable - try again later|try again in|come back later|not yet authorized/i,
    class: 'greylisted',
    action: 'retry',
  },
  {
    id: 'sender-address-deferred',
    codes: TEMPORARY,
    text: SENDER_ADDRESS_REFUSED,
    class: 'sender-rejected',
    action: 'retry',
  },
  {
    id: 'storage-deferred',
    codes: TEMPORARY,
    text: /insufficient system storage|insufficient disk|not enough disk/i,
    class: 'remote-system',
    action: 'slow',
  },
  {
    // RFC 5321 section 3.8: 421 closes the channel, whatever it answers, so that it is news of the whole destination.
    id: 'service-closing',
    codes: [421, 421],
    class: 'temporary',
    action: 'slow',
  },
  { id: 'starttls-unavailable', codes: [454, 454], class: 'temporary', action: 'retry' },
  { id: 'address-deferred', codes: TEMPORARY, enhanced: ['1.*'], class: 'bad-mailbox', action: 'retry' },
  { id: 'policy-deferred', codes: TEMPORARY, enhanced: ['7.*'], class: 'policy', action: 'retry' },
  { id: 'system-deferred', codes: TEMPORARY, enhanced: ['3.*'], class: 'remote-system', action: 'retry' },
  { id: 'routing-deferred', codes: TEMPORARY, enhanced: ['4.*'], class: 'routing', action: 'retry' },
];

/** What no row knows: one default per code class, and one for replies that are not refusals at all. */
const DEFAULTS: readonly ReplyRule[] = [
  { id: 'default-temporary', codes: TEMPORARY, class: 'temporary', action: 'retry' },
  {
    id: 'default-permanent-recipient',
    codes: PERMANENT,
    stages: ['rcpt'],
    class: 'unclassified',
    action: 'bounce-hard',
  },
  { id: 'default-permanent', codes: PERMANENT, class: 'unclassified', action: 'bounce-soft' },
];

/** A code outside 400–599 where a refusal was due: the conversation went astray, which says nothing of the address. */
export const UNREADABLE_REPLY: ReplyRule = {
  id: 'unreadable',
  codes: [-Infinity, Infinity],
  class: 'protocol',
  action: 'retry',
};

/** The table. First match wins. Every row is proven by a reply in `test/corpus/reply-examples.ts`. */
export const REPLY_RULES: readonly ReplyRule[] = [...TEMPORARY_REPLY_RULES, ...PERMANENT_REPLY_RULES, ...DEFAULTS];
