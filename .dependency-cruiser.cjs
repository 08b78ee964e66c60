'use strict';

/**
 * Who may import whom, top to bottom: entry > features > {auth > audit, throttling, delivery} > database > config >
 * common. `npm run architecture` shows each broken rule with its comment, which says what to do.
 */
const LEAVES = 'events|stats|health|inbound-mail|local-mailbox|templates';

/** What the features above the leaves may see of other features. */
const FEATURES_BELOW = {
  console: 'emails|inbound-mail',
  domains: 'stats',
  emails: 'domains|events|stats|suppressions|templates',
  'inbound-reports': 'domains|emails',
  'inbound-smtp': 'inbound-mail|inbound-reports',
  operator: 'domains|emails|stats',
  privacy: 'emails|inbound-mail|inbound-reports|local-mailbox|suppressions|webhooks',
  'tls-reporting': 'domains|emails',
  tracking: 'emails',
  webhooks: 'events',
};

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Move what both files need into a third one that both import; mostly it is a type.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-barrels',
      comment: 'Import the file itself. A barrel hides where a thing lives and breeds cycles.',
      severity: 'error',
      from: {},
      to: { path: '^src/.*/index\\.ts$' },
    },
    {
      name: 'common-is-the-floor',
      comment:
        'Common code knows nothing of the service: take what it needs as a parameter, or move the file up to where it belongs.',
      severity: 'error',
      from: { path: '^src/common/' },
      to: { path: '^src/', pathNot: '^src/common/' },
    },
    {
      name: 'config-sees-only-common',
      comment: 'The configuration is read before anything else exists: move shared vocabulary to common/.',
      severity: 'error',
      from: { path: '^src/config/' },
      to: { path: '^src/', pathNot: '^src/(config|common)/' },
    },
    {
      name: 'database-sees-config-and-common',
      comment: 'The database knows no tables of features: pass what it needs, or move the file into the feature.',
      severity: 'error',
      from: { path: '^src/database/' },
      to: { path: '^src/', pathNot: '^src/(database|config|common)/' },
    },
    {
      name: 'throttling-and-delivery-are-apart',
      comment:
        'Limits and engine are built without each other: share a type through common/, or connect them in worker.module.ts through a port.',
      severity: 'error',
      from: { path: '^src/(throttling|delivery)/' },
      to: { path: '^src/(audit|auth|throttling|delivery|modules)/', pathNot: '^src/$1/' },
    },
    {
      name: 'auth-sees-audit',
      comment:
        'Keys and organizations are below the features: let the feature call them, or declare an abstract class here that the feature provides.',
      severity: 'error',
      from: { path: '^src/auth/' },
      to: { path: '^src/(throttling|delivery|modules)/' },
    },
    {
      name: 'audit-is-below-auth',
      comment: 'Every layer records into the audit log, so it imports none of them: pass plain values.',
      severity: 'error',
      from: { path: '^src/audit/' },
      to: { path: '^src/(auth|throttling|delivery|modules)/' },
    },
    {
      name: 'entry-points-are-not-imported',
      comment: 'Entry points put the modules together: move what you need from there into common/ or into a feature.',
      severity: 'error',
      from: { path: '^src/(common|config|database|audit|auth|throttling|delivery|modules)/' },
      to: { path: '^src/([^/]+\\.ts$|bootstrap/|cli/|openapi/)' },
    },
    {
      name: 'leaf-features-import-no-feature',
      comment: 'These features are built on no other one: let the feature above call them, or pass the data in.',
      severity: 'error',
      from: { path: `^src/modules/(${LEAVES})/` },
      to: { path: '^src/modules/', pathNot: '^src/modules/$1/' },
    },
    ...Object.entries(FEATURES_BELOW).map(([feature, below]) => ({
      name: `${feature}-sees-${below.replaceAll('|', '-')}`,
      comment: `What ${feature} may import is listed in FEATURES_BELOW: call it from a feature above, or add it there if no cycle follows.`,
      severity: 'error',
      from: { path: `^src/modules/${feature}/` },
      to: { path: '^src/modules/', pathNot: `^src/modules/(${feature}|${below})/` },
    })),
    {
      name: 'dkim-zone-sees-public-keys',
      comment: 'The responder serves the public Internet: it has no way to private keys.',
      severity: 'error',
      from: { path: '^src/modules/dkim-zone/' },
      to: {
        path: '^src/(modules|auth|delivery)/',
        pathNot: '^src/modules/(dkim-zone/|domains/dkim/public-keys\\.)',
      },
    },
    {
      name: 'dkim-zone-decrypts-nothing',
      comment: 'Nor through what it imports.',
      severity: 'error',
      from: { path: '^src/modules/dkim-zone/' },
      to: { path: '^src/(modules/domains/dkim/dkim-keyring|common/encryption/)', reachable: true },
    },
    {
      name: 'features-meet-through-service-or-module',
      comment:
        "Inject the other feature's service; never its repository, entity or SQL. Add a method there when it lacks one. How events are in rows is in events/event-rows.ts, for those who write them too.",
      severity: 'error',
      from: { path: '^src/modules/([^/]+)/' },
      to: {
        path: '^src/modules/',
        pathNot: ['^src/modules/$1/', '\\.(service|module)\\.ts$', '^src/modules/events/event-rows\\.ts$'],
      },
    },
    {
      name: 'features-see-delivery-through-queue-and-ports',
      comment:
        'inbound-reports opens the return paths and knows the signatures, emails the links that the engine issues; bounces quote SMTP replies.',
      severity: 'error',
      from: { path: '^src/modules/' },
      to: {
        path: '^src/delivery/',
        pathNot:
          '^src/delivery/(ports/|delivery\\.module\\.ts$|(shaping/(held-)?destinations|egress/egress)\\.service\\.ts$|queue/(delivery-queue\\.repository|(queue-actions|queue-measures|open-deliveries|open-delivery-limit)\\.service|waiting|worker-waker\\.service)\\.ts$|tls/tls-report-data\\.service\\.ts$|(tokens/(return-path|recipient-link)|dkim/own-signature)\\.ts$|policy/replies/classify-reply\\.ts$)',
      },
    },
    {
      name: 'controllers-do-not-touch-data',
      comment: 'Call the service, and map its result in dto/*.mapper.ts.',
      severity: 'error',
      from: { path: '\\.controller\\.ts$' },
      to: { path: '(\\.repository|\\.entity|\\.sql)\\.ts$' },
    },
    {
      name: 'repositories-do-not-see-services',
      comment: 'A repository is below the services and DTOs: pass it plain values.',
      severity: 'error',
      from: { path: '(\\.repository|\\.entity|\\.sql)\\.ts$' },
      to: { path: '(\\.controller|\\.dto|(?<!database)\\.service)\\.ts$', pathNot: '^src/database/' },
    },
    {
      name: 'services-do-not-speak-http',
      comment: 'Map requests and responses in the controller (dto/*.mapper.ts); the command line calls services too.',
      severity: 'error',
      from: { path: '\\.service\\.ts$' },
      to: { path: '(\\.controller\\.ts$|/dto/|common/http/(?!principal|scopes))' },
    },
    {
      name: 'sql-only-through-its-repository',
      comment: "Add a method to the repository that runs the statement, named by the caller's purpose.",
      severity: 'error',
      from: { pathNot: '(\\.repository|\\.storage|\\.sql)\\.ts$' },
      to: { path: '\\.sql\\.ts$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'typeorm-only-in-data-files',
      comment: "Move the query into the repository of the table's owner.",
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
      comment: 'Move the helper from test/ into src/, or the code into a spec.',
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
