// Node 20 or later: node fetch.mjs. Without a library; in TypeScript take @waybill/client (sdk/).
import { randomUUID } from 'node:crypto';

const { WAYBILL_URL, WAYBILL_API_KEY, WAYBILL_TO = 'ada@example.com' } = process.env;
const ATTEMPTS = 4;
const key = randomUUID(); // The same in every attempt: the mail goes out once.

/** The response's status, waiting time and body; without a response the status is 0. A proxy's body need not be JSON. */
async function send() {
  try {
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
    const body = await response.json().catch(() => ({}));
    return { status: response.status, retryAfter: Number(response.headers.get('retry-after')), body };
  } catch (error) {
    return { status: 0, body: { error: { code: 'no_response', message: error.message } } };
  }
}

for (let attempt = 1; ; attempt += 1) {
  const { status, retryAfter, body } = await send();
  if (status === 202) {
    console.log(body.data.id);
    break;
  }
  const isFinal = status !== 0 && status !== 429 && status < 500;
  if (isFinal || attempt === ATTEMPTS) {
    throw new Error(`${status} ${body.error?.code ?? ''}: ${body.error?.message ?? 'no reason given'}`);
  }
  const seconds = retryAfter || 2 ** attempt;
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000 + Math.random() * 500));
}
