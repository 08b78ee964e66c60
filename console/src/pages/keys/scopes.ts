/** What each scope allows, in the order in which they are shown. */
export const SCOPES: Readonly<Record<string, string>> = {
  'email:send': 'Send and cancel emails',
  'email:read': 'Read emails, their events and contents',
  'domain:read': 'Read domains',
  'domain:manage': 'Add, verify and remove domains',
  'stats:read': 'Read statistics and reputation',
  'suppression:read': 'Read the suppression list',
  'suppression:manage': 'Change the suppression list',
  'privacy:read': 'Read privacy requests and the audit log',
  'privacy:manage': 'Request exports and erasures',
  'webhook:read': 'Read webhooks',
  'webhook:manage': 'Manage webhooks',
  'template:read': 'Read and preview templates',
  'template:manage': 'Make and change templates',
  'inbound:read': 'Read inbound routes and the mail that came by them',
  'inbound:manage': 'Manage inbound routes',
  'key:manage': 'Make and revoke API keys',
};
