import { OPERATOR_SCOPES, SCOPES } from '../common/http/scopes';
import { ERROR_CODES } from '../common/errors/app-error';

/** The introduction of the API documentation, as Markdown. The tables come from the code that enforces them. */
export function describeApi(): string {
  return `${INTRODUCTION}
## Scopes

${table(
  ['Scope', 'Covers'],
  Object.entries({ ...SCOPES, ...OPERATOR_SCOPES }).map(([scope, covers]) => [`\`${scope}\``, covers]),
)}

## Errors

Every error has the same body: \`{"error": {"code", "message", "details"?, "suggestion"?}}\`. Programs decide by \`code\`; the
\`message\` is for people. For \`invalid_request\`, \`details.validation\` maps a field path (\`to[1].email\`) to messages.

${table(['HTTP', 'Code', 'When'], errorRows())}
`;
}

function errorRows(): string[][] {
  return Object.entries(ERROR_CODES).map(([code, { status, summary }]) => [`${status}`, `\`${code}\``, summary]);
}

function table(heads: readonly string[], rows: readonly string[][]): string {
  return [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const INTRODUCTION = `Transactional email delivery: register a sender domain, send, and follow every email to its end.

## Conventions

- **Bodies** are JSON in UTF-8. A success is \`{"data": …}\`, except for health and the deletion of a domain. Lists with pages add \`pagination\` or \`total\`, some of operators \`nextCursor\`.
- **Times** are ISO 8601 in UTC with milliseconds. A timestamp in a request needs an offset; a date alone is midnight UTC.
- **Ids** are UUIDs (version 7). An id that is malformed, unknown or another organization's is answered 404.
- **Unknown fields** of bodies and queries are refused. Optional fields without a value are left out, in domains \`null\`. In bodies other than an email's, \`null\` counts as absent where it has no meaning of its own.
- **Request ids:** every response has \`X-Request-Id\`; one that you send (1 to 128 of \`A-Za-z0-9._-\`) is kept.

## Authentication

\`Authorization: Bearer <API key>\`. Live keys begin with \`wb_live_\`, test keys with \`wb_test_\`. Test keys see and make test data
only: a simulator plays the receiving side, no mail leaves the service, and responses carry \`X-Test-Mode: true\`. Operators' keys
begin with \`wb_op_\` and open the paths under \`/operator/v1\`, which no other key opens.

## Limits and retries

Requests are limited per key and endpoint, and per organization. Authenticated responses carry \`X-RateLimit-Limit\`, \`-Remaining\`
and \`-Reset\` (seconds since 1970) of the limit that is closest to being reached. After a 429 or a 503 wait for the seconds in
\`Retry-After\`, then retry with exponential backoff and jitter. Sends are safe to retry with the header \`X-Idempotency-Key\`: the
same key with the same body returns what the first request returned, for 24 hours.
`;

/** What the groups of routes are about, in the order in which the documentation shows them. */
export const TAG_DESCRIPTIONS: Readonly<Record<string, string>> = {
  Emails:
    'Send emails and follow them. A 202 means that the email is in durable storage: it will be delivered or fail visibly.',
  Templates: 'Subject, html and text in Liquid, with versions. A send names a template and its variables.',
  Domains: 'Sender domains: register, publish the DNS records, verify, rotate DKIM keys.',
  Suppressions: 'Addresses that get no mail.',
  Statistics: 'Counts and rates per period, domain and hour, and the sender reputation.',
  Privacy: "A data subject's rights: exports and erasures; who changed what.",
  Webhooks: 'Events pushed to your endpoints, signed per the Standard Webhooks specification.',
  Events: 'The events of all emails in order, to be pulled.',
  Inbound: 'Mail to your domains: routes, and the mail that they have received.',
  'API keys': 'Create, list and revoke keys.',
  Operator: 'For operators, with keys of their own (`waybill operator-key create`) that are valid for nothing else.',
  Mailbox: 'What the built-in catch-all mailbox of the local mode has received.',
  Tracking: 'Links inside emails: opens, clicks and unsubscribing. Called by mail programs.',
  Health: 'For probes and monitors. No key, no envelope.',
};
