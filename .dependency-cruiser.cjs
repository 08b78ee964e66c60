'use strict';

/** One picture, read top to bottom: entry > features > {auth, throttling, delivery} > database > config > common. */
const LEAVES = 'events|stats|health|mailbox';

/** What the features above the leaves may see of other features. */
const FEATURES_BELOW = {
  domains: 'stats',
  emails: 'domains|events|stats|suppressions',
  inbound: 'domains|emails',
  privacy: 'emails|inbound|mailbox|suppressions|webhooks',
  tracking: 'emails',
  webhooks: 'emails|events',
};

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-barrels',
      comment: 'A barrel hides where a thing lives and breeds cycles.',
      severity: 'error',
      from: {},
      to: { path: '^src/.*/index\\.ts$' },
    },
    {
      name: 'common-is-the-floor',
      severity: 'error',
      from: { path: '^src/common/' },
      to: { path: '^src/', pathNot: '^src/common/' },
    },
    {
      name: 'config-sees-only-common',
      severity: 'error',
      from: { path: '^src/config/' },
      to: { path: '^src/', pathNot: '^src/(config|common)/' },
    },
    {
      name: 'database-sees-config-and-common',
      severity: 'error',
      from: { path: '^src/database/' },
      to: { path: '^src/', pathNot: '^src/(database|config|common)/' },
    },
    {
      name: 'platform-rooms-do-not-see-each-other',
      severity: 'error',
      from: { path: '^src/(throttling|delivery)/' },
      to: { path: '^src/(audit|auth|throttling|delivery|modules)/', pathNot: '^src/$1/' },
    },
    {
      name: 'auth-sees-audit',
      severity: 'error',
      from: { path: '^src/auth/' },
      to: { path: '^src/(throttling|delivery|modules)/' },
    },
    {
      name: 'audit-is-below-auth',
      severity: 'error',
      from: { path: '^src/audit/' },
      to: { path: '^src/(auth|throttling|delivery|modules)/' },
    },
    {
      name: 'nobody-imports-entry-points',
      severity: 'error',
      from: { path: '^src/(common|config|database|audit|auth|throttling|delivery|modules)/' },
      to: { path: '^src/([^/]+\\.ts$|bootstrap/|cli/|openapi/)' },
    },
    {
      name: 'leaf-features-import-no-feature',
      severity: 'error',
      from: { path: `^src/modules/(${LEAVES})/` },
      to: { path: '^src/modules/', pathNot: '^src/modules/$1/' },
    },
    ...Object.entries(FEATURES_BELOW).map(([feature, below]) => ({
      name: `${feature}-sees-${below.replaceAll('|', '-')}`,
      severity: 'error',
      from: { path: `^src/modules/${feature}/` },
      to: { path: '^src/modules/', pathNot: `^src/modules/(${feature}|${below})/` },
    })),
    {
      name: 'dkim-zone-sees-published-keys',
      comment: 'The responder talks to strangers: it has no way to private keys.',
      severity: 'error',
      from: { path: '^src/modules/dkim-zone/' },
      to: {
        path: '^src/(modules|auth|delivery)/',
        pathNot: '^src/modules/(dkim-zone/|domains/dkim/published-keys\\.)',
      },
    },
    {
      name: 'features-meet-through-service-or-module',
      comment: 'Never through a repository, an entity or SQL.',
      severity: 'error',
      from: { path: '^src/modules/([^/]+)/' },
      to: { path: '^src/modules/', pathNot: ['^src/modules/$1/', '\\.(service|module)\\.ts$'] },
    },
    {
      name: 'features-see-delivery-through-queue-and-ports',
      comment:
        'inbound opens the return paths and knows the signatures, emails the links that the engine issues; bounces quote SMTP replies.',
      severity: 'error',
      from: { path: '^src/modules/' },
      to: {
        path: '^src/delivery/',
        pathNot:
          '^src/delivery/(ports/|queue/(delivery-queue\\.(repository|module)|worker-waker\\.service)\\.ts$|(tokens/(return-path|recipient-link)|dkim/own-signature)\\.ts$|policy/classify-reply\\.ts$)',
      },
    },
    {
      name: 'controllers-do-not-touch-data',
      severity: 'error',
      from: { path: '\\.controller\\.ts$' },
      to: { path: '(\\.repository|\\.entity|\\.sql)\\.ts$' },
    },
    {
      name: 'repositories-do-not-look-up',
      severity: 'error',
      from: { path: '(\\.repository|\\.entity|\\.sql)\\.ts$' },
      to: { path: '(\\.controller|\\.dto|(?<!database)\\.service)\\.ts$', pathNot: '^src/database/' },
    },
    {
      name: 'services-do-not-speak-http',
      severity: 'error',
      from: { path: '\\.service\\.ts$' },
      to: { path: '(\\.controller\\.ts$|/dto/|common/http/(?!principal|scopes))' },
    },
    {
      name: 'sql-only-through-its-repository',
      severity: 'error',
      from: { pathNot: '(\\.repository|\\.storage|\\.sql)\\.ts$' },
      to: { path: '\\.sql\\.ts$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'typeorm-only-in-data-files',
      severity: 'error',
      from: { path: '^src/', pathNot: '(\\.repository|\\.entity|\\.module)\\.ts$|^src/database/' },
      to: { path: 'node_modules/typeorm' },
    },
    {
      name: 'out-over-http-only-through-egress',
      comment:
        'One client, which checks where it connects to; the linter keeps `fetch` and `http.request` away as well.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/common/egress/' },
      to: { path: '^(https|http2)$|node_modules/(undici|axios|got|node-fetch|needle|superagent)/' },
    },
    {
      name: 'no-tests-in-the-product',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^test/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '\\.spec\\.ts$' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
  },
};
