/**
 * What mutation testing looks at: code on which the promises rest, area by area, each with the tests that have to notice a
 * change. Of `tests` only the name of the file may have a `*`.
 */
export const AREAS = {
  'reply-classification': {
    mutate: ['src/delivery/policy/replies/classify-reply.ts', 'src/delivery/policy/replies/reply-rule.ts'],
    tests: ['src/delivery/policy/replies/*.spec.ts', 'src/delivery/policy/*.spec.ts'],
  },
  'smtp-replies': {
    mutate: ['src/delivery/smtp/conversation/smtp-reply.ts', 'src/delivery/smtp/conversation/smtp-envelope.ts'],
    tests: [
      'src/delivery/smtp/conversation/smtp-reply.spec.ts',
      'src/delivery/smtp/conversation/smtp-envelope*.spec.ts',
    ],
  },
  'smtp-wire': {
    mutate: ['src/delivery/smtp/conversation/smtp-wire.ts', 'src/delivery/smtp/conversation/dot-stuffing.ts'],
    tests: ['src/delivery/smtp/conversation/smtp-wire*.spec.ts', 'src/delivery/smtp/conversation/dot-stuffing.spec.ts'],
  },
  'outcome-fold': {
    mutate: ['src/modules/emails/outcomes/apply-outcomes.ts'],
    tests: ['src/modules/emails/outcomes/*.spec.ts'],
  },
  'event-rows': {
    mutate: ['src/modules/events/event-rows.ts'],
    tests: ['src/modules/events/event-rows.spec.ts'],
  },
  'idempotency-plan': {
    mutate: ['src/modules/emails/accept/request/idempotency.ts', 'src/modules/emails/accept/commit/accept-plan.ts'],
    tests: [
      'src/modules/emails/accept/commit/accept-plan.spec.ts',
      'src/modules/emails/accept/request/idempotency.spec.ts',
    ],
  },
  'claim-plan': {
    mutate: ['src/delivery/worker/claims/claim-plan.ts'],
    tests: ['src/delivery/worker/claims/claim-plan*.spec.ts'],
  },
  'claim-statement': {
    sql: ['src/delivery/queue/sql/claim-deliveries.sql.ts', 'src/delivery/queue/sql/ready-destinations.sql.ts'],
    // The quick one first.
    tests: ['claim-statement', 'queue', 'fairness'].map((name) => `test/integration/delivery/${name}.spec.ts`),
  },
  'json-scan': {
    mutate: ['src/common/json/json-scan.ts'],
    tests: ['src/common/json/*.spec.ts'],
  },
  tokens: {
    mutate: ['src/delivery/tokens/*.ts', '!src/delivery/tokens/*.spec.ts'],
    tests: ['src/delivery/tokens/*.spec.ts'],
  },
  addresses: {
    mutate: ['src/common/erasure/address-pattern.ts', 'src/common/erasure/spelled-characters.ts'],
    tests: ['address-pattern', 'address-finder'].map((name) => `src/common/erasure/${name}.spec.ts`),
  },
  erasure: {
    mutate: [
      'src/common/erasure/address-finder.ts',
      'src/common/erasure/encoded-runs.ts',
      'src/common/erasure/byte-search.ts',
    ],
    tests: ['src/common/erasure/*.spec.ts'],
  },
  decodings: {
    mutate: ['src/common/erasure/decodings.ts'],
    tests: ['readings', 'decodings', 'address-finder', 'without-addresses'].map(
      (name) => `src/common/erasure/${name}.spec.ts`,
    ),
  },
  'erased-texts': {
    mutate: ['src/modules/emails/privacy/erase-texts.ts'],
    tests: ['src/modules/emails/privacy/erase-texts.spec.ts'],
  },
};

/** Of a hundred mutants of each area at least so many have to be killed. */
export const LEAST_SCORE = 90;
