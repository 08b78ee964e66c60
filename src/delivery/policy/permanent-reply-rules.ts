import {
  BAD_DOMAIN_REPUTATION,
  BAD_REPUTATION,
  NO_REVERSE_NAME,
  NO_ROOM,
  NO_SUCH_MAILBOX,
  ON_A_BLOCKLIST,
  ONLY_FOR_NOW,
  PERMANENT,
  RECIPIENT_RATE,
  type ReplyRule,
  SENDER_ADDRESS_REFUSED,
  UNAUTHENTICATED_DOMAIN,
} from './reply-rule';

/**
 * Faults of the sender or of the message come first, so that a refusal of ours can never read as a bad address:
 * servers send such texts with any code, 5.1.1 included.
 */
const SENDER_SIDE: readonly ReplyRule[] = [
  {
    id: 'relay-credentials',
    codes: [530, 538],
    text: /authenticated|authentication|username and password|log in with|credentials|password required/i,
    class: 'credentials',
    // An operator's slip in RELAY_URL must not cost the queue: it is retried for the message's whole life.
    action: 'slow',
  },
  {
    id: 'tls-required',
    codes: PERMANENT,
    text: /must issue a starttls|requires encryption|requires tls|tls required|tls is required|senders to use tls/i,
    class: 'policy',
    action: 'bounce-soft',
  },
  {
    // A rate is of the moment, whatever the code says; and 5.2.1 is then no disabled mailbox.
    id: 'recipient-rate-refused',
    codes: PERMANENT,
    text: RECIPIENT_RATE,
    class: 'rate-limited',
    action: 'retry',
  },
  {
    id: 'domain-reputation',
    codes: PERMANENT,
    text: BAD_DOMAIN_REPUTATION,
    class: 'reputation',
    action: 'bounce-soft',
  },
  {
    // This service's address is listed: every mail would meet the same reply until it is taken off the list.
    id: 'blocklist',
    codes: PERMANENT,
    text: ON_A_BLOCKLIST,
    class: 'reputation',
    action: 'suspend',
  },
  {
    id: 'domain-authentication',
    codes: PERMANENT,
    text: UNAUTHENTICATED_DOMAIN,
    class: 'authentication',
    action: 'bounce-soft',
  },
  {
    // RFC 7372: the codes for failed SPF and DKIM checks.
    id: 'domain-authentication-code',
    codes: PERMANENT,
    enhanced: ['7.20', '7.21', '7.22', '7.23', '7.24', '7.26'],
    class: 'authentication',
    action: 'bounce-soft',
  },
  { id: 'reverse-name', codes: PERMANENT, text: NO_REVERSE_NAME, class: 'reputation', action: 'suspend' },
  {
    // RFC 3463: X.1.7 and X.1.8 speak of the sender's mailbox and system, unlike the rest of X.1.
    id: 'sender-address-code',
    codes: PERMANENT,
    enhanced: ['1.7', '1.8'],
    class: 'sender-rejected',
    action: 'bounce-soft',
  },
  {
    id: 'sender-address',
    codes: PERMANENT,
    text: SENDER_ADDRESS_REFUSED,
    class: 'sender-rejected',
    action: 'bounce-soft',
  },
  {
    id: 'spam-content',
    codes: PERMANENT,
    text: /likely unsolicited|considered spam|classified as spam|detected as spam|identified as spam|looks like spam|spam message|spam content|probability of spam|rejected as spam|rejected for spam|message content|content rejected|content examination|spam score|\bis spam|blocked by spamassassin/i,
    class: 'content-rejected',
    action: 'bounce-soft',
  },
  { id: 'reputation', codes: PERMANENT, text: BAD_REPUTATION, class: 'reputation', action: 'slow' },
  {
    id: 'unsafe-content',
    codes: PERMANENT,
    text: /virus|malware|phish|illegal attachment|potential security issue|blocked attachment|attachment type|banned content|infected/i,
    class: 'content-rejected',
    action: 'bounce-soft',
  },
  {
    id: 'rate-limited',
    codes: PERMANENT,
    text: /rate limit|rate-limit|too quickly|at a rate|sending limit exceeded|relay limit exceeded|sending quota exceeded|too many connections|throttl/i,
    class: 'rate-limited',
    action: 'slow',
  },
  {
    id: 'relay-denied',
    codes: PERMANENT,
    text: /relay access denied|relaying denied|relay denied|relay not permitted|unable to relay|open relay|allowed to relay|rcpthosts|relaying is not allowed|relaying not allowed|do not relay/i,
    class: 'relay-denied',
    action: 'bounce-soft',
  },
];

const MESSAGE_SIZE: readonly ReplyRule[] = [
  { id: 'too-large-code', codes: PERMANENT, enhanced: ['2.3', '3.4'], class: 'too-large', action: 'bounce-soft' },
  {
    id: 'too-large',
    codes: PERMANENT,
    text: /too large|too big|size exceeds|size limit|email size exceeded|exceeds maximum|larger than/i,
    class: 'too-large',
    action: 'bounce-soft',
  },
];

const RECIPIENT_SIDE: readonly ReplyRule[] = [
  {
    // The mailbox is there and takes mail, though not from everybody.
    id: 'recipient-restriction',
    codes: PERMANENT,
    text: /not authorized to send to|not permitted to send to|not allowed to send to|permission to send to|only accepts mail|only accepts messages|blocked by recipient|blocked by the recipient|not accepting mail from|not accepting messages from/i,
    class: 'policy',
    action: 'bounce-soft',
  },
  { id: 'mailbox-full-code', codes: PERMANENT, enhanced: ['2.2'], class: 'mailbox-full', action: 'bounce-soft' },
  { id: 'mailbox-full', codes: PERMANENT, text: NO_ROOM, class: 'mailbox-full', action: 'bounce-soft' },
  ...MESSAGE_SIZE,
  { id: 'only-for-now', codes: PERMANENT, text: ONLY_FOR_NOW, class: 'temporary', action: 'bounce-soft' },
  {
    // Exchange Online's directory-based edge blocking: the address is not in the organization's directory.
    id: 'edge-blocking',
    codes: [550, 550],
    stages: ['rcpt'],
    enhanced: ['4.1'],
    text: /recipient address rejected: access denied/i,
    class: 'bad-mailbox',
    action: 'bounce-hard-suppress',
  },
  {
    // X.7 is the sender's policy trouble, so that this never suppresses, however plain the text.
    id: 'bad-mailbox-as-policy',
    codes: PERMANENT,
    enhanced: ['7.*'],
    text: NO_SUCH_MAILBOX,
    class: 'bad-mailbox',
    action: 'bounce-hard',
  },
  { id: 'policy-code', codes: PERMANENT, enhanced: ['7.*'], class: 'policy', action: 'bounce-soft' },
  {
    // RFC 7504: the host takes no mail at all.
    id: 'no-mail-service',
    codes: [521, 521],
    class: 'bad-domain',
    action: 'bounce-hard',
  },
  { id: 'null-mx', codes: [556, 556], class: 'bad-domain', action: 'bounce-hard' },
  {
    id: 'mailbox-disabled-code',
    codes: PERMANENT,
    enhanced: ['2.1'],
    class: 'mailbox-disabled',
    action: 'bounce-hard-suppress',
  },
  { id: 'bad-domain-code', codes: PERMANENT, enhanced: ['1.2'], class: 'bad-domain', action: 'bounce-hard-suppress' },
  { id: 'bad-mailbox-code', codes: PERMANENT, enhanced: ['1.*'], class: 'bad-mailbox', action: 'bounce-hard-suppress' },
  {
    id: 'policy',
    codes: PERMANENT,
    text: /policy reason|policy violation|policy restriction|local policy|security polic|spoofing policy|administrative prohibition|envelope blocked|access denied|not authorized|rejected by recipient/i,
    class: 'policy',
    action: 'bounce-soft',
  },
  {
    id: 'mailbox-disabled',
    codes: PERMANENT,
    text: /(?:account|mailbox|user|address|recipient) (?:is |has been |was )?(?:disabled|deactivated|inactive|suspended|closed)|is no longer valid|address no longer|mailbox no longer|account no longer/i,
    class: 'mailbox-disabled',
    action: 'bounce-hard-suppress',
  },
  { id: 'bad-mailbox', codes: PERMANENT, text: NO_SUCH_MAILBOX, class: 'bad-mailbox', action: 'bounce-hard-suppress' },
  {
    // The wording of RFC 5321 section 4.2.2; at RCPT the large providers use it for unknown users alone.
    id: 'mailbox-unavailable',
    codes: [550, 550],
    stages: ['rcpt'],
    text: /mailbox unavailable/i,
    class: 'bad-mailbox',
    action: 'bounce-hard-suppress',
  },
  {
    id: 'bad-domain',
    codes: PERMANENT,
    text: /domain does not exist|domain not found|no such domain|unknown domain|host unknown|domain not hosted|domain is not hosted/i,
    class: 'bad-domain',
    action: 'bounce-hard',
  },
];

const MACHINES: readonly ReplyRule[] = [
  {
    id: 'mail-loop',
    codes: PERMANENT,
    text: /mail loop|routing loop|too many hops|hop count exceeded|exceeded 50 hops/i,
    class: 'routing',
    action: 'bounce-soft',
  },
  { id: 'content-code', codes: PERMANENT, enhanced: ['6.*'], class: 'content-rejected', action: 'bounce-soft' },
  { id: 'routing-code', codes: PERMANENT, enhanced: ['4.*'], class: 'routing', action: 'bounce-soft' },
  { id: 'system-code', codes: PERMANENT, enhanced: ['3.*'], class: 'remote-system', action: 'bounce-soft' },
  { id: 'protocol-code', codes: PERMANENT, enhanced: ['5.*'], class: 'protocol', action: 'bounce-soft' },
  { id: 'protocol-reply', codes: [500, 504], class: 'protocol', action: 'bounce-soft' },
  { id: 'storage-reply', codes: [552, 552], class: 'mailbox-full', action: 'bounce-soft' },
];

/** Rows for 5xx replies, in order. */
export const PERMANENT_REPLY_RULES: readonly ReplyRule[] = [...SENDER_SIDE, ...RECIPIENT_SIDE, ...MACHINES];
