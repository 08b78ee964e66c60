import { SOURCES } from './source-files';

/**
 * Where a request deliberately sees everyone's rows (docs/adr/0023), and why. A new one: is there no other way? Routes with
 * `@RequireOperatorScope` do by what they are.
 */
const ACROSS_TENANTS: Record<string, string> = {
  'auth/keys/api-keys.repository.ts':
    'who is calling is found by the hash of the key; keys of operators are no tenant’s',
  'auth/console-sessions/console-sessions.repository.ts': 'who is calling is found by the hash of the cookie',
  'audit/audit.service.ts': 'notes of several callers are written together',
  'delivery/queue/open-delivery-limit.service.ts': 'it is a share of the queue that all have',
  'delivery/shaping/held-destinations.service.ts': 'what is known of destinations is no tenant’s',
  'throttling/throttle-hits.repository.ts': 'counters are no tenant’s',
  'modules/console/console.controller.ts': 'a key, a link or a cookie says whose session it is',
  'modules/domains/registry/domains.repository.ts': 'a name that another organization has verified is taken',
  'modules/domains/restrictions/restrictions.repository.ts': 'reservations of earlier callers are given back together',
  'modules/emails/emails.repository.ts': 'a search by address needs an index that policies close',
  'modules/events/events.repository.ts':
    'which transactions are open is no tenant’s, and hidden from the role of requests',
  'modules/health/health-indicators.ts': 'the queue is everyone’s',
  'modules/local-mailbox/mailbox.controller.ts': 'the mailbox of a development machine shows all mail',
  'modules/tracking/tracking.controller.ts': 'a signed token says whose mail it was',
};

const DEFINITIONS = ['common/tenant.ts', 'common/http/scopes.ts', 'auth/access.guard.ts'];

describe('row-level security', () => {
  it('is left only in the listed places', () => {
    const users = SOURCES.filter(({ text }) => /\b(?:acrossTenants|AcrossTenants|enterEveryTenant)\b\(/.test(text));
    const names = users.map(({ name }) => name).filter((name) => !DEFINITIONS.includes(name));
    expect(names.sort()).toEqual(Object.keys(ACROSS_TENANTS).sort());
  });

  it('sees every statement: only it takes connections from the pool', () => {
    const takers = SOURCES.filter(({ text }) => /\bpoolOf\(|\bcreateQueryRunner\(/.test(text)).map(({ name }) => name);
    expect(takers.sort()).toEqual([
      'database/pool/data-source.ts',
      // Counts them.
      'database/pool/database.metrics.ts',
      'database/pool/database.service.ts',
      'database/pool/tenant-data-source.ts',
      'database/start/migrate.ts',
    ]);
  });
});
