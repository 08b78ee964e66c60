/** A program that uses the client library's types, and that the compiler takes only if they are right. */
export const typedUse = (library: string): string => `
import { Waybill, isWaybillError, type Download, type WebhookEvent } from '${library}';
const waybill = new Waybill({ apiKey: 'x', baseUrl: 'x' });
export async function use(): Promise<string[]> {
  const { id } = await waybill.emails.send({ to: ['ada@example.com'], subject: 'x', react: {} }, { idempotencyKey: 'x' });
  // @ts-expect-error the field has another name
  await waybill.emails.send({ to: ['ada@example.com'], subject: 'x', reply_to: 'x' });
  // @ts-expect-error there is no such status
  await waybill.emails.list({ status: 'lost' });
  const names: string[] = [];
  const perhaps = names.find((name) => name === 'x');
  await waybill.emails.send({ to: [{ email: 'ada@example.com', name: perhaps }], subject: 'x', text: perhaps, replyTo: perhaps });
  await waybill.emails.batch([{ to: ['ada@example.com'], subject: 'x', html: perhaps, tracking: { opens: undefined } }]);
  await waybill.emails.list({ status: undefined, tag: perhaps }, { signal: undefined, timeoutMs: undefined, idempotencyKey: perhaps });
  new Waybill({ apiKey: 'x', baseUrl: 'x', timeoutMs: undefined, maxRetries: undefined, fetch: undefined, render: undefined });
  // @ts-expect-error it is required
  await waybill.suppressions.create({ email: perhaps, reason: 'manual' });
  for await (const template of waybill.templates.listAll()) names.push(template.name);
  for await (const template of waybill.templates.listAll({ q: 'reset' })) names.push(template.name);
  const { pagination } = await waybill.emails.list({ status: 'bounced' });
  const event: WebhookEvent = await waybill.webhooks.verify('', {}, 'whsec_x');
  if (event.type === 'email.bounced') names.push(event.data.emailId, event.data.bounceType ?? '');
  // @ts-expect-error there is no such type of bounce
  if (event.type === 'email.bounced' && event.data.bounceType === 'lost') names.push('');
  if (event.type === 'inbound.received') names.push(event.data.inboundEmailId, event.data.authentication.spf.result);
  const raw: Uint8Array = await waybill.inboundEmails.raw(id);
  const { attachments } = await waybill.inboundEmails.get(id);
  for (const { index } of attachments) await waybill.inboundEmails.attachment(id, index);
  for await (const pulled of waybill.events.pullAll()) {
    names.push(pulled.type, pulled.data.eventId);
    if (pulled.type === 'email.clicked') names.push(pulled.data.url ?? '');
  }
  names.push((await waybill.events.pull()).pagination.nextCursor ?? '');
  for await (const { requestId } of waybill.privacy.listRequestsAll()) names.push(requestId);
  for await (const { domain } of waybill.stats.byDomainAll({ start_date: '', end_date: '' })) names.push(domain);
  names.push(String(raw.length));
  const { body, filename }: Download = await waybill.privacy.readExportCsv(id, { section: 'events' });
  for await (const piece of body as unknown as AsyncIterable<Uint8Array>) names.push(filename ?? '', String(piece.length));
  // @ts-expect-error there is no such section
  await waybill.privacy.readExportCsv(id, { section: 'lost' });
  if (event.type === 'webhook.test') names.push(event.data.webhookId);
  try { await waybill.emails.cancel(id); } catch (error) {
    if (isWaybillError(error, 'email_not_cancellable')) names.push(error.code);
    // @ts-expect-error there is no such code
    if (isWaybillError(error, 'lost')) names.push(error.code);
  }
  return [...names, String(pagination.total)];
}`;

/** A program that imports the package and requires it: each copy must know the errors and the client of the other. Run in `sdk/`. */
export const TWO_COPIES = `
import { createRequire } from 'node:module';
import * as imported from './dist/esm/index.js';
import { WaybillTransport } from './dist/esm/nodemailer.js';
const required = createRequire(import.meta.url)('./dist/cjs/index.js');
const fetch = (status) => async () => Response.json({ error: { code: 'invalid_request', message: 'm' } }, { status });
const broken = async () => { throw new TypeError('fetch failed'); };
const options = { apiKey: 'k', baseUrl: 'http://x.example', maxRetries: 0 };
const thrown = (copy, fetch) => new copy.Waybill({ ...options, fetch }).domains.list().catch((error) => error);
class Own extends imported.WaybillError {}
const found = [];
for (const [copy, other] of [[imported, required], [required, imported]]) {
  const [refused, lost, conflict] = [await thrown(copy, fetch(400)), await thrown(copy, broken), await thrown(copy, fetch(409))];
  found.push(
    other.isWaybillError(refused, 'invalid_request'), refused instanceof other.ValidationError,
    refused instanceof other.WaybillError, lost instanceof other.ConnectionError,
    new copy.TimeoutError('t') instanceof other.ConnectionError, conflict instanceof other.ConflictError,
    new copy.WebhookVerificationError('w') instanceof other.WebhookVerificationError,
    new Own({ status: 400, code: 'invalid_request', message: 'm' }) instanceof other.WaybillError,
    new copy.Waybill(options) instanceof other.Waybill,
    Boolean(new WaybillTransport(new copy.Waybill(options))),
    !other.isWaybillError(refused, 'rate_limit_exceeded'), !other.isWaybillError(lost),
    !(lost instanceof other.TimeoutError), !(conflict instanceof other.ValidationError), !(refused instanceof Own),
    ![undefined, null, 'x', {}, new Error('x')].some((value) => other.isWaybillError(value)),
    refused instanceof Error,
  );
}
console.log(JSON.stringify(found));`;
