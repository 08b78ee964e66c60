/** What an erasure does to a column that may show a person: its step, or why it leaves the column alone. */
type Fate = `step ${string}` | `left: ${string}`;

const OWN_WORDS = 'left: what the customer has written about its own things';
const OPERATOR = 'left: the operator’s own words';
const MASKED = 'left: addresses are masked before it is stored (without-addresses.ts)';
const NETWORK = 'left: of a server or of a client that guesses keys, and of no recipient';

const ofEmails = 'step received, sent, late, late-sent: email-eraser.service.ts';
const ofInbound = 'step inbound: inbound-subjects.service.ts';
const ofCopies = 'step mailbox: mailbox-erasure.service.ts';
const ofSuppressions = 'step suppressions: address-hashing.service.ts';

/**
 * Every column that the data map calls `address`, `name`, `content`, `text` or `ip`. Whether the steps do it is for
 * `erasure-residue.spec.ts` and `erasure-hiding-places.spec.ts` to show, which search all tables afterwards; `TABLES_THAT_SHOW` is
 * what they find before.
 */
export const ERASED_COLUMNS: Readonly<Record<string, Fate>> = {
  'api_keys.name': OWN_WORDS,
  'deliveries.recipient': 'step received, late: the delivery is withdrawn',
  'deliveries.held_reason': OPERATOR,
  'destination_reports.cause': MASKED,
  'destination_reports.last_response': MASKED,
  'destination_rules.cause': MASKED,
  'dmarc_sources.source_ip': NETWORK,
  'domains.sending_status_note': OPERATOR,
  'egress_suspensions.cause': MASKED,
  'email_attachments.content': 'step received, sent, late, late-sent: email-eraser.service.ts',
  'email_attachments.content_id': ofEmails,
  'email_attachments.content_type': ofEmails,
  'email_attachments.filename': ofEmails,
  'email_contents.addressees': ofEmails,
  'email_contents.headers': ofEmails,
  'email_contents.html': ofEmails,
  'email_contents.text': ofEmails,
  'email_events.data': `${ofEmails}; later ones: erased-recipient.ts`,
  'email_recipients.address': ofEmails,
  'emails.bcc_emails': ofEmails,
  'emails.cc_emails': ofEmails,
  'emails.from_email': ofEmails,
  'emails.from_name': ofEmails,
  'emails.metadata': ofEmails,
  'emails.reply_to': ofEmails,
  'emails.subject': ofEmails,
  'emails.tags': ofEmails,
  'emails.to_emails': ofEmails,
  'feedback_reports.network': NETWORK,
  'feedback_reports.raw': 'left: emptied once it has been read; mail to postmaster and abuse is the operator’s',
  'idempotency_keys.key': 'step responses: hashed',
  'idempotency_keys.response': 'step responses',
  'inbound_email_parts.content': ofInbound,
  'inbound_emails.addresses': ofInbound,
  'inbound_emails.data': ofInbound,
  'inbound_emails.envelope_from': ofInbound,
  'inbound_emails.envelope_to': ofInbound,
  'inbound_emails.from_address': ofInbound,
  'inbound_reports.raw': 'step received, late: deleted; emptied once it has been read',
  'mailbox_messages.raw': ofCopies,
  'mailbox_messages.recipients': ofCopies,
  'mailbox_messages.sender': ofCopies,
  'mailbox_messages.subject': ofCopies,
  'missing_domains.address_key': ofSuppressions,
  'operator_keys.name': OPERATOR,
  'organizations.name': OPERATOR,
  'privacy_requests.progress': 'left: until the request ends',
  'queue_actions.filter_recipient': 'left: until the action is completed',
  'queue_actions.reason': OPERATOR,
  'removed_domains.sending_status_note': OPERATOR,
  'soft_bounces.address_key': ofSuppressions,
  'suppressions.address_key': ofSuppressions,
  'suppressions.email': ofSuppressions,
  'suppressions.notes': ofSuppressions,
  'template_versions.html': OWN_WORDS,
  'template_versions.subject': OWN_WORDS,
  'template_versions.text': OWN_WORDS,
  'templates.name': OWN_WORDS,
  'throttle_hits.key': NETWORK,
  'webhook_endpoints.description': OWN_WORDS,
  'webhook_endpoints.url': OWN_WORDS,
  'webhook_messages.last_answer': 'step received, sent, late, late-sent, inbound: webhook-deliveries.service.ts',
};

/** Tables in which a step erases something, as a test has to fill them. */
export const TABLES_THAT_SHOW = [
  ...new Set(
    Object.entries(ERASED_COLUMNS)
      .filter(([, fate]) => fate.startsWith('step '))
      .map(([column]) => column.split('.')[0] ?? ''),
  ),
].sort();
