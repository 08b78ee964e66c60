// Node 20 or later: node fetch.mjs. Without a library; in TypeScript take @waybill/client (sdk/).
import { randomUUID } from 'node:crypto';

const { WAYBILL_URL, WAYBILL_API_KEY, WAYBILL_TO = 'ada@example.com' } = process.env;
const key = randomUUID(); // The same in every attempt: the mail goes out once.

for (let attempt = 1; ; attempt += 1) {
  const response = await fetch(`${WAYBILL_URL}/v1/emails`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${WAYBILL_API_KEY}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body: JSON.stringify({ to: [WAYBILL_TO], subject: 'Hello from fetch', html: '<p>Hello</p>' }),
    signal: AbortSignal.timeout(30_000),
  });
  const body = await response.json();
  if (response.ok) {
    console.log(body.data.id);
    break;
  }
  if (attempt === 4 || (response.status !== 429 && response.status < 500)) {
    throw new Error(`${body.error.code}: ${body.error.message}`);
  }
  const seconds = Number(response.headers.get('retry-after') ?? 2 ** attempt);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000 + Math.random() * 500));
}
