// Beside `rights.tsx`, so that a test can compare them with the routes of the service.

/** Scopes of what concerns all domains of the organization: the service refuses it to a key that is bound to one (`Unbound`). */
export const OF_ALL_DOMAINS: ReadonlySet<string> = new Set([
  ...['suppression:read', 'suppression:manage', 'template:read', 'template:manage'],
  ...['privacy:read', 'privacy:manage'],
]);

/** Scopes of what live mail depends on: the service refuses it to test keys (`LiveOnly`). */
export const OF_LIVE_MAIL: ReadonlySet<string> = new Set(['domain:manage', 'inbound:manage', 'template:manage']);
