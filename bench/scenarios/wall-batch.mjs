import { emailBody } from '../harness/mail.mjs';
import { compareWalls } from '../harness/wall.mjs';

const CONNECTIONS = 4;
const EMAILS = 100;
const REQUESTS = 10;

/** A hundred emails per request: the price of row-level security. */
export function prepare(bench) {
  const bodies = Array.from({ length: REQUESTS }, (_, request) =>
    JSON.stringify(Array.from({ length: EMAILS }, (_, index) => emailBody(request * EMAILS + index))),
  );
  const target = { path: '/v1/emails/batch', bodies, connections: CONNECTIONS };
  const name = `wall-batch (${CONNECTIONS} connections × ${EMAILS})`;
  return compareWalls(bench, { name, unit: 'emails', perRequest: EMAILS, target });
}
