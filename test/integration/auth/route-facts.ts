import { randomUUID } from 'node:crypto';
import type { OperatorScope, Scope } from '../../../src/common/http/scopes';
import type { Mode } from '../../../src/common/tenant';

/** What a path parameter names. */
export type Kind =
  | 'email'
  | 'domain'
  | 'api-key'
  | 'webhook'
  | 'delivery'
  | 'export'
  | 'erasure'
  | 'suppression'
  | 'template'
  | 'inbound-route'
  | 'inbound-email'
  | 'first'
  | 'nothing';

/** Who calls, as far as a request depends on it. */
export interface Caller {
  readonly domain: string;
  readonly mode: Mode;
}

/** A route that needs a key. */
export interface KeyedRoute {
  readonly scope: Scope;
  /**
   * `apart`: a test key has separate objects: it does not see live objects, nor live keys its own; `below`: the same,
   * but live keys see test objects; `shared`: it sees what a live key sees; `refused`: 403.
   */
  readonly testKeys: 'apart' | 'below' | 'shared' | 'refused';
  /** Keys bound to another domain: `blind`: what is not of their domain is unknown; `open`: it is of no domain; `refused`: 403. */
  readonly boundKeys: 'blind' | 'open' | 'refused';
  /** What the path parameters name, in their order. */
  readonly names?: readonly Kind[];
  readonly query?: string;
  readonly body?: (caller: Caller) => unknown;
  /** Of a request that is in order. */
  readonly status: number;
}

/** A route of `/operator/v1`. */
export interface OperatorRoute {
  readonly scope: OperatorScope;
}

/** A route that needs no key: its status for a path whose parameters name nothing. */
export interface PublicRoute {
  readonly status: number;
}

const PERIOD = '?start_date=2026-01-01T00:00:00Z&end_date=2026-01-02T00:00:00Z';
const OWN = { testKeys: 'apart', boundKeys: 'blind', status: 200 } as const;
/** The whole organization's. */
const UNBOUND = { testKeys: 'apart', boundKeys: 'refused', status: 200 } as const;
const CHANGES_DOMAINS = { scope: 'domain:manage', testKeys: 'refused', status: 200 } as const;
const CHANGES_TEMPLATES = { scope: 'template:manage', testKeys: 'refused', boundKeys: 'refused', status: 200 } as const;

const CHANGES_INBOUND = { scope: 'inbound:manage', testKeys: 'refused', boundKeys: 'refused', status: 200 } as const;
const READS_INBOUND = { ...OWN, scope: 'inbound:read' } as const;

const someone = () => `${randomUUID()}@x.example`;
const mail = ({ domain }: Caller) => ({ from: `hello@${domain}`, to: [someone()], subject: 'Hello', text: 'Hello' });
const rawMail = ({ domain }: Caller) => ({
  raw: Buffer.from(`From: hello@${domain}\nSubject: Hello\n\nHello\n`).toString('base64'),
  to: [someone()],
});
const yesterday = () => new Date(Date.now() - 86_400_000).toISOString();

/** Every route with a key. A new one is described here, or `tenant-isolation.spec.ts` fails. */
export const KEYED_ROUTES: Readonly<Record<string, KeyedRoute>> = {
  'POST /v1/emails': { ...UNBOUND, scope: 'email:send', body: mail, status: 202 },
  'POST /v1/emails/batch': { ...OWN, scope: 'email:send', body: (caller) => [mail(caller)], status: 202 },
  'POST /v1/emails/raw': { ...UNBOUND, scope: 'email:send', body: rawMail, status: 202 },
  'GET /v1/emails': { ...OWN, scope: 'email:read' },
  'GET /v1/emails/{id}': { ...OWN, scope: 'email:read', names: ['email'] },
  'GET /v1/emails/{id}/events': { ...OWN, scope: 'email:read', names: ['email'] },
  'GET /v1/emails/{id}/attempts': { ...OWN, scope: 'email:read', names: ['email'] },
  'GET /v1/emails/{id}/content': { ...OWN, scope: 'email:read', names: ['email'] },
  'PATCH /v1/emails/{id}': {
    ...OWN,
    scope: 'email:send',
    names: ['email'],
    body: () => ({ scheduledAt: new Date(Date.now() + 7_200_000).toISOString() }),
  },
  'POST /v1/emails/{id}/resend': { ...OWN, scope: 'email:send', names: ['email'], status: 202 },
  'POST /v1/emails/{id}/cancel': { ...OWN, scope: 'email:send', names: ['email'] },
  'GET /v1/events': { ...OWN, scope: 'email:read' },

  'GET /v1/stats': { ...OWN, scope: 'stats:read', query: PERIOD },
  'GET /v1/stats/domains': { ...OWN, scope: 'stats:read', query: PERIOD },
  'GET /v1/stats/providers': { ...OWN, scope: 'stats:read', query: PERIOD },
  'GET /v1/stats/hourly': { ...OWN, scope: 'stats:read', query: PERIOD },
  'GET /v1/stats/reputation': { ...OWN, scope: 'stats:read' },

  'POST /v1/domains': {
    ...CHANGES_DOMAINS,
    boundKeys: 'refused',
    body: () => ({ domain: `${randomUUID()}.example` }),
    status: 201,
  },
  'GET /v1/domains': { ...OWN, scope: 'domain:read', testKeys: 'shared' },
  'GET /v1/domains/{id}': { ...OWN, scope: 'domain:read', testKeys: 'shared', names: ['domain'] },
  'GET /v1/domains/{id}/tls-reports': { ...OWN, scope: 'domain:read', testKeys: 'shared', names: ['domain'] },
  'GET /v1/domains/{id}/dmarc': { ...OWN, scope: 'domain:read', testKeys: 'shared', names: ['domain'] },
  'PATCH /v1/domains/{id}': {
    ...CHANGES_DOMAINS,
    boundKeys: 'blind',
    names: ['domain'],
    body: () => ({ require_tls: true }),
  },
  'POST /v1/domains/{id}/set-default': { ...CHANGES_DOMAINS, boundKeys: 'refused', names: ['domain'] },
  'POST /v1/domains/{id}/verify': { ...CHANGES_DOMAINS, boundKeys: 'blind', names: ['domain'] },
  'POST /v1/domains/{id}/rotate-dkim': { ...CHANGES_DOMAINS, boundKeys: 'blind', names: ['domain'] },
  'DELETE /v1/domains/{id}': { ...CHANGES_DOMAINS, boundKeys: 'blind', names: ['domain'] },

  'POST /v1/api-keys': {
    ...OWN,
    scope: 'key:manage',
    body: ({ mode }) => ({ name: 'made', mode, scopes: ['key:manage'] }),
    status: 201,
  },
  'GET /v1/api-keys': { ...OWN, scope: 'key:manage', testKeys: 'below' },
  'DELETE /v1/api-keys/{id}': { ...OWN, scope: 'key:manage', testKeys: 'below', names: ['api-key'] },

  'POST /v1/templates': {
    ...CHANGES_TEMPLATES,
    body: () => ({ name: randomUUID(), subject: 'Hello', text: 'Hello' }),
    status: 201,
  },
  'GET /v1/templates': { ...UNBOUND, scope: 'template:read', testKeys: 'shared' },
  'GET /v1/templates/{id}': { ...UNBOUND, scope: 'template:read', testKeys: 'shared', names: ['template'] },
  'PATCH /v1/templates/{id}': {
    ...CHANGES_TEMPLATES,
    names: ['template'],
    body: () => ({ subject: 'Changed' }),
  },
  'DELETE /v1/templates/{id}': { ...CHANGES_TEMPLATES, names: ['template'] },
  'GET /v1/templates/{id}/versions': { ...UNBOUND, scope: 'template:read', testKeys: 'shared', names: ['template'] },
  'POST /v1/templates/{id}/render': {
    ...UNBOUND,
    scope: 'template:read',
    testKeys: 'shared',
    names: ['template'],
    body: () => ({}),
  },

  'POST /v1/inbound-routes': {
    ...CHANGES_INBOUND,
    body: ({ domain }) => ({ address: `${randomUUID()}@${domain}` }),
    status: 201,
  },
  'GET /v1/inbound-routes': { ...UNBOUND, scope: 'inbound:read', testKeys: 'shared' },
  'GET /v1/inbound-routes/{id}': { ...UNBOUND, scope: 'inbound:read', testKeys: 'shared', names: ['inbound-route'] },
  'PATCH /v1/inbound-routes/{id}': {
    ...CHANGES_INBOUND,
    names: ['inbound-route'],
    body: ({ domain }) => ({ address: `${randomUUID()}@${domain}` }),
  },
  'DELETE /v1/inbound-routes/{id}': { ...CHANGES_INBOUND, names: ['inbound-route'] },
  'GET /v1/inbound-emails': READS_INBOUND,
  'GET /v1/inbound-emails/{id}': { ...READS_INBOUND, names: ['inbound-email'] },
  'DELETE /v1/inbound-emails/{id}': { ...CHANGES_INBOUND, boundKeys: 'blind', names: ['inbound-email'] },
  'GET /v1/inbound-emails/{id}/raw': { ...READS_INBOUND, names: ['inbound-email'] },
  'GET /v1/inbound-emails/{id}/attachments/{index}': { ...READS_INBOUND, names: ['inbound-email', 'first'] },

  'POST /v1/webhooks': {
    ...OWN,
    scope: 'webhook:manage',
    body: () => ({ url: 'https://hooks.example.com/mail', events: ['*'] }),
    status: 201,
  },
  'GET /v1/webhooks': { ...OWN, scope: 'webhook:read' },
  'GET /v1/webhooks/{id}': { ...OWN, scope: 'webhook:read', names: ['webhook'] },
  'PATCH /v1/webhooks/{id}': {
    ...OWN,
    scope: 'webhook:manage',
    names: ['webhook'],
    body: () => ({ description: 'changed' }),
  },
  'DELETE /v1/webhooks/{id}': { ...OWN, scope: 'webhook:manage', names: ['webhook'] },
  'POST /v1/webhooks/{id}/rotate-secret': { ...OWN, scope: 'webhook:manage', names: ['webhook'] },
  'POST /v1/webhooks/{id}/replay': {
    ...OWN,
    scope: 'webhook:manage',
    names: ['webhook'],
    body: () => ({ from: yesterday() }),
    status: 202,
  },
  'POST /v1/webhooks/{id}/test': { ...OWN, scope: 'webhook:manage', names: ['webhook'], status: 202 },
  'GET /v1/webhooks/{id}/deliveries': { ...OWN, scope: 'webhook:read', names: ['webhook'] },
  'GET /v1/webhooks/{id}/deliveries/{deliveryId}': {
    ...OWN,
    scope: 'webhook:read',
    names: ['webhook', 'delivery'],
  },
  'POST /v1/webhooks/{id}/deliveries/{deliveryId}/redeliver': {
    ...OWN,
    scope: 'webhook:manage',
    names: ['webhook', 'delivery'],
    status: 202,
  },

  'GET /v1/suppressions': { ...UNBOUND, scope: 'suppression:read' },
  'GET /v1/suppressions/check': {
    ...UNBOUND,
    scope: 'suppression:read',
    boundKeys: 'open',
    query: '?email=a@x.example',
  },
  'POST /v1/suppressions': {
    ...UNBOUND,
    scope: 'suppression:manage',
    body: () => ({ email: someone(), reason: 'manual' }),
    status: 201,
  },
  'POST /v1/suppressions/batch': {
    ...UNBOUND,
    scope: 'suppression:manage',
    body: () => [{ email: someone(), reason: 'manual' }],
    status: 201,
  },
  'POST /v1/suppressions/import': {
    ...UNBOUND,
    scope: 'suppression:manage',
    body: () => ({ from: 'ses', csv: `${someone()},BOUNCE\n` }),
    status: 201,
  },
  'DELETE /v1/suppressions/{email}': { ...UNBOUND, scope: 'suppression:manage', names: ['suppression'] },

  'POST /v1/gdpr/export': { ...UNBOUND, scope: 'privacy:manage', body: () => ({ email: someone() }), status: 202 },
  'GET /v1/gdpr/export/{requestId}': { ...UNBOUND, scope: 'privacy:read', names: ['export'] },
  'POST /v1/gdpr/delete-request': {
    ...UNBOUND,
    scope: 'privacy:manage',
    body: () => ({ email: someone(), confirmDelete: true }),
    status: 202,
  },
  'GET /v1/gdpr/delete-request/{requestId}': { ...UNBOUND, scope: 'privacy:read', names: ['erasure'] },
  'GET /v1/gdpr/status': { ...UNBOUND, scope: 'privacy:read' },
  'GET /console/preview/inbound/{id}': { ...READS_INBOUND, names: ['inbound-email'] },
  'GET /console/preview/{id}': { ...OWN, scope: 'email:read', names: ['email'] },

  'GET /v1/audit-log': { ...UNBOUND, scope: 'privacy:read' },
};

/** Every route without a key. */
export const PUBLIC_ROUTES: Readonly<Record<string, PublicRoute>> = {
  'GET /health': { status: 200 },
  'GET /health/startup': { status: 200 },
  'GET /health/detailed': { status: 200 },
  'GET /t/o/{token}': { status: 404 },
  'GET /t/c/{token}': { status: 404 },
  'GET /u/{token}': { status: 404 },
  'POST /u/{token}': { status: 404 },
  'GET /console': { status: 200 },
  'GET /console/assets/{file}': { status: 404 },
  'GET /console/{*path}': { status: 200 },
  'GET /console/session': { status: 200 },
  'POST /console/session': { status: 400 },
  'DELETE /console/session': { status: 200 },
  'GET /mailbox': { status: 200 },
  'GET /mailbox/delete': { status: 200 },
  'POST /mailbox/delete': { status: 200 },
  'POST /mailbox/{id}/delete': { status: 404 },
  'GET /mailbox/messages.json': { status: 200 },
  'GET /mailbox/style.css': { status: 200 },
  'GET /mailbox/{id}': { status: 404 },
  'GET /mailbox/{id}/html': { status: 404 },
  'GET /mailbox/{id}/raw': { status: 404 },
  'GET /mailbox/{id}/attachments/{index}': { status: 404 },
};

const READ: OperatorRoute = { scope: 'operator:read' };
const MANAGE: OperatorRoute = { scope: 'operator:manage' };

/** Every route that operators' keys open, and no other key. */
export const OPERATOR_ROUTES: Readonly<Record<string, OperatorRoute>> = {
  'GET /operator/v1/overview': READ,
  'GET /operator/v1/workers': READ,
  'GET /operator/v1/audit': READ,
  'GET /operator/v1/egress': READ,
  'PATCH /operator/v1/egress/{address}': MANAGE,
  'DELETE /operator/v1/egress/{address}/suspensions/{destination}': MANAGE,
  'GET /operator/v1/restricted-domains': READ,
  'GET /operator/v1/organizations': READ,
  'POST /operator/v1/organizations': MANAGE,
  'GET /operator/v1/organizations/{id}': READ,
  'PATCH /operator/v1/organizations/{id}': MANAGE,
  'POST /operator/v1/organizations/{id}/api-keys': MANAGE,

  'GET /operator/v1/queue': READ,
  'GET /operator/v1/queue/deliveries': READ,
  'POST /operator/v1/queue/actions': MANAGE,
  'GET /operator/v1/queue/actions/{id}': READ,

  'GET /operator/v1/destinations': READ,
  'GET /operator/v1/destinations/{key}': READ,
  'PATCH /operator/v1/destinations/{key}': MANAGE,
  'DELETE /operator/v1/destinations/{key}/rules/{id}': MANAGE,
};
