import { setTimeout as delay } from 'node:timers/promises';
import { emailBody } from '../harness/mail.mjs';

const MIB = 2 ** 20;
const ERASURE_LIMIT_MS = 60_000;

function send({ port, tenant }, method, url, body, headers = {}) {
  return fetch(`http://127.0.0.1:${port}${url}`, {
    method,
    headers: { authorization: `Bearer ${tenant.key}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
}

async function statusOf(responding) {
  const response = await responding;
  await response.arrayBuffer();
  return response.status;
}

/** How often each status came: `40 × 202`. */
async function statuses(responding) {
  const counts = new Map();
  for (const status of await Promise.all(responding.map(statusOf))) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} × ${status}`).join(', ');
}

const mail = ({ tenant }, index, to) => ({
  ...emailBody(index),
  from: `shop@${tenant.domain.name}`,
  ...(to !== undefined && { to }),
});

/** Addresses whose characters have many spellings. */
const ODD = [
  ...[..."!#$%&'*+-/=?^_`{|}~"].map((sign) => `${sign.repeat(30)}@odd.test`),
  `${'ü'.repeat(30)}@odd.test`,
  `${'='.repeat(4)}${'a'.repeat(60)}@odd.test`,
  `"${'\\"'.repeat(20)}"@odd.test`,
  `x@${'ü'.repeat(20)}.test`,
];

const batches = (name, to) => ({
  name,
  run: (at) =>
    statuses(
      Array.from({ length: 10 }, (_, batch) =>
        send(
          at,
          'POST',
          '/v1/emails/batch',
          Array.from({ length: 100 }, (_item, index) => mail(at, batch * 100 + index, to?.(batch * 100 + index))),
        ),
      ),
    ),
});

const oneBody = (name, body, headers) => ({
  name,
  run: (at) => statuses([send(at, 'POST', '/v1/emails', body(at), headers)]),
});

/** What one client sends: `{name, run(target): Promise<note>}`. The first ones meet a process that has just started. */
export const REQUEST_ATTACKS = [
  batches('ten batches of 100 to a new process'),
  batches('ten batches of 100 again'),
  batches('ten batches of 100 to odd addresses', (index) => ODD[index % ODD.length]),
  {
    name: 'erasures of these addresses',
    run: async (at) => {
      const requests = await Promise.all(
        ODD.map(async (email) => {
          const response = await send(at, 'POST', '/v1/gdpr/delete-request', { email, confirmDelete: true });
          return { isAccepted: response.status === 202, ...(await response.json()).data };
        }),
      );
      const accepted = requests.filter(({ isAccepted }) => isAccepted);
      const open = new Set(accepted.map(({ requestId }) => requestId));
      const until = performance.now() + ERASURE_LIMIT_MS;
      while (open.size > 0 && performance.now() < until) {
        await delay(250);
        for (const id of open) {
          const { data } = await (await send(at, 'GET', `/v1/gdpr/delete-request/${id}`)).json();
          if (data.status === 'completed') open.delete(id);
        }
      }
      return `${accepted.length} of ${ODD.length} accepted, ${open.size} not completed`;
    },
  },
  oneBody('a body of nested arrays, 8 MiB', () => `["\\ud800",${'['.repeat(8 * MIB)}`),
  oneBody('the same with a made-up key', () => `["\\ud800",${'['.repeat(8 * MIB)}`, {
    authorization: 'Bearer wb_live_x',
  }),
  oneBody('a body of one string of escapes, 8 MiB', (at) =>
    JSON.stringify({ ...mail(at, 0), text: '\u0001'.repeat(MIB) }),
  ),
  oneBody('a body of 300,000 fields', (at) =>
    JSON.stringify({
      ...mail(at, 0),
      ...Object.fromEntries(Array.from({ length: 300_000 }, (_, index) => [`x${index}`, 0])),
    }),
  ),
  oneBody('html of 1 MiB of unclosed tags', (at) => ({ ...mail(at, 0), html: '<a><b '.repeat(MIB / 6) })),
  oneBody('a header of 900 kB of encoded words', (at) => ({
    ...mail(at, 0),
    headers: { 'X-A': 'ü '.repeat(300_000) },
  })),
];
