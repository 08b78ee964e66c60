/** What the groups of routes are about, in the order in which the documentation shows them. */
export const TAG_DESCRIPTIONS: Readonly<Record<string, string>> = {
  Emails:
    'Send emails and follow them. A 202 means that the email is in durable storage: it will be delivered or fail visibly.',
  Domains: 'Sender domains: register, publish the DNS records, verify, rotate DKIM keys.',
  Suppressions: 'Addresses that are not sent to.',
  Statistics: 'Counts and rates per period, domain and hour, and the sender reputation.',
  Privacy: "A data subject's rights: exports and erasures; who changed what.",
  Webhooks: 'Events pushed to your endpoints, signed per the Standard Webhooks specification.',
  Events: 'The events of all emails in order, to be pulled.',
  'API keys': 'Create, list and revoke keys.',
  Mailbox: 'What the built-in catch-all mailbox of the local mode has received.',
  Tracking: 'Links inside emails: opens, clicks and unsubscribing. Called by mail programs.',
  Health: 'For probes and monitors. No key, no envelope.',
};
