import { emailBody } from '../harness/mail.mjs';
import { compareWalls } from '../harness/wall.mjs';

const CONNECTIONS = 50;
const BODIES = 1_000;

/** One email per request: the price of row-level security. */
export function prepare(bench) {
  const bodies = Array.from({ length: BODIES }, (_, index) => JSON.stringify(emailBody(index)));
  const target = { path: '/v1/emails', bodies, connections: CONNECTIONS };
  return compareWalls(bench, {
    name: `wall-single (${CONNECTIONS} connections)`,
    unit: 'emails',
    perRequest: 1,
    target,
  });
}
