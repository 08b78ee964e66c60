import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { OpenTelemetryTracing } from '../../../src/common/tracing/open-telemetry';
import { Tracing } from '../../../src/common/tracing/tracing';
import { OtlpReceiver, type ReceivedSpan } from '../../doubles/otlp-receiver';
import { TenantFactory } from '../../e2e/kit/tenant';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';
import { RawSmtpClient } from '../inbound-smtp/raw-smtp-client';
import { waitFor } from '../../setup/wait-for';
import { type RunningProcess, startProcess } from './service';

let database: TestDatabase;
let receiver: OtlpReceiver;
let service: RunningProcess;
let key: string;

beforeAll(async () => {
  receiver = await OtlpReceiver.start();
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '20',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  };
  // The library reads the process's own.
  Object.assign(process.env, env);
  database = await createTestDatabase();
  service = await startProcess(database.url, 'all', env);
  const factory = await TenantFactory.open(database.url);
  key = (await factory.create()).testKey;
  await factory.close();
});
afterAll(async () => {
  await service.close();
  await receiver.close();
  await database.drop();
});

const newTrace = () => ({ traceId: randomBytes(16).toString('hex'), parentId: randomBytes(8).toString('hex') });

async function send(fields: Record<string, unknown>, traceparent: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${service.port}/v1/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', traceparent },
    body: JSON.stringify({ from: 'app@acme.example', subject: 'Hello', text: 'Hello', ...fields }),
  });
  expect(response.status).toBe(202);
  return ((await response.json()) as { data: { id: string } }).data.id;
}

const spansWhen = (traceId: string, isComplete: (spans: ReceivedSpan[]) => boolean) =>
  waitFor(
    () => {
      const spans = receiver.spans(traceId);
      return isComplete(spans) && spans;
    },
    { what: 'the spans' },
  );
const named = (spans: ReceivedSpan[], name: string) => spans.filter((span) => span.name === name);
const attribute = (span: ReceivedSpan | undefined, name: string) =>
  Object.values(span?.attributes.find((each) => each.key === name)?.value ?? {})[0];

async function storedTraces(emailId: string): Promise<(string | null)[]> {
  const client = new Client(database.url);
  await client.connect();
  const text = "select encode(trace_context, 'hex') as trace from deliveries where email_id = $1";
  const { rows } = await client.query<{ trace: string | null }>(text, [emailId]);
  await client.end();
  return rows.map(({ trace }) => trace);
}

describe('a send', () => {
  it('is one trace, from the client over the queue to its settlement', async () => {
    const { traceId, parentId } = newTrace();
    const to = ['soft-bounced@simulator.waybill.test'];
    const emailId = await send({ to }, `00-${traceId}-${parentId}-01`);
    const spans = await spansWhen(traceId, (all) => named(all, 'settle').length === 3);

    const [request] = named(spans, 'POST /v1/emails');
    expect(request).toMatchObject({ parentSpanId: parentId, kind: 2 });
    expect([attribute(request, 'http.route'), Number(attribute(request, 'http.response.status_code'))]).toEqual([
      '/v1/emails',
      202,
    ]);
    const children = ['accept', 'queue wait', 'delivery attempt'].flatMap((name) => named(spans, name));
    expect(children).toHaveLength(5);
    for (const span of children) expect(span.parentSpanId).toBe(request?.spanId);
    const attempts = named(spans, 'delivery attempt');
    expect(attempts.map((span) => attribute(span, 'waybill.email.id'))).toEqual([emailId, emailId, emailId]);
    expect(attempts.map((span) => attribute(span, 'waybill.delivery.outcome'))).toEqual([
      ...['deferred', 'deferred'],
      expect.not.stringMatching('deferred'),
    ]);
    expect(named(spans, 'settle').map((span) => span.parentSpanId)).toEqual(attempts.map((span) => span.spanId));
    for (const { startTimeUnixNano, endTimeUnixNano } of spans) {
      expect(BigInt(endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(startTimeUnixNano));
    }
    expect(spans).toHaveLength(9);
    expect(JSON.stringify(spans)).not.toContain('@');
  });

  it('over SMTP begins a trace, which has the reply', async () => {
    const client = await RawSmtpClient.greeted(service.submissionPort ?? 0);
    await client.command(`AUTH PLAIN ${Buffer.from(`\0waybill\0${key}`).toString('base64')}`);
    const submit = async (from: string) => {
      const lines = ['MAIL FROM:<a@acme.example>', 'RCPT TO:<delivered@simulator.waybill.test>', 'DATA'];
      for (const line of lines) await client.command(line);
      return client.send(`From: ${from}\r\n\r\nHello\r\n.\r\n`).reply();
    };
    expect(await submit('app@acme.example')).toMatch(/^250 /);
    expect(await submit('app@elsewhere.example')).toMatch(/^550 /);
    client.close();
    const all = () =>
      receiver.exports().flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => named(spans, 'SMTP DATA')));
    const [taken, refused] = await waitFor(() => all().length === 2 && all(), { what: 'two messages' });
    expect([taken, refused].map((span) => [span?.kind, Boolean(span?.parentSpanId)])).toEqual(
      Array(2).fill([2, false]),
    );
    const told = [taken, refused].map((span) => [attribute(span, 'smtp.response.code'), attribute(span, 'error.type')]);
    expect(told.map(([code, reason]) => [Number(code), reason])).toEqual([[250, undefined], [550, 'sender']]); // prettier-ignore
    const spans = await spansWhen(taken?.traceId ?? '', (some) => named(some, 'settle').length === 1);
    for (const name of ['accept', 'queue wait', 'delivery attempt']) {
      expect(named(spans, name).map(({ parentSpanId }) => parentSpanId)).toEqual([taken?.spanId]);
    }
  });

  it('keeps 24 bytes with the delivery where its trace is sampled, and none elsewhere', async () => {
    const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
    const mail = { to: ['a@simulator.waybill.test', 'b@simulator.waybill.test'], scheduledAt };
    const [sampled, other] = [newTrace(), newTrace()];
    const kept = await storedTraces(await send(mail, `00-${sampled.traceId}-${sampled.parentId}-01`));
    expect(kept).toEqual([kept[0], kept[0]]);
    expect(kept[0]).toMatch(new RegExp(`^${sampled.traceId}[0-9a-f]{16}$`));
    expect(await storedTraces(await send(mail, `00-${other.traceId}-${other.parentId}-00`))).toEqual([null, null]);
    expect(receiver.spans(other.traceId)).toEqual([]);
  });

  it('begins a new trace if the client sends no valid one', async () => {
    await send({ to: ['someone@simulator.waybill.test'] }, 'nonsense');
    const roots = () =>
      receiver
        .exports()
        .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => named(spans, 'POST /v1/emails')))
        .filter(({ parentSpanId }) => !parentSpanId);
    await waitFor(() => roots().length > 0, { what: 'a root span' });
  });

  it('says which service it was', async () => {
    const [first] = await waitFor(() => receiver.exports().length > 0 && receiver.exports(), { what: 'an export' });
    const facts = Object.fromEntries(first?.resource.attributes.map(({ key: name, value }) => [name, value]) ?? []);
    expect(facts).toMatchObject({
      'service.name': { stringValue: 'waybill' },
      'service.version': { stringValue: expect.any(String) },
      'deployment.environment.name': { stringValue: 'test' },
    });
  });
});

describe('tracing', () => {
  it('is off without an endpoint', async () => {
    expect(service.app.get(Tracing).isOn).toBe(true);
    const plain = await startProcess(database.url, 'api');
    expect(plain.app.get(Tracing).isOn).toBe(false);
    await plain.close();
  });

  it('speaks protobuf by default, and sends the last spans at its end', async () => {
    const tracing = new OpenTelemetryTracing('http/protobuf', { version: '1', roles: [] });
    tracing.startRequest(undefined)?.end({ method: 'GET', route: '/', status: 200 });
    await tracing.close();
    expect(receiver.requests.at(-1)).toMatchObject({ path: '/v1/traces', contentType: 'application/x-protobuf' });
  });

  it('outlives a collector that is away', async () => {
    process.env.OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:9';
    process.env.OTEL_EXPORTER_OTLP_TIMEOUT = '200';
    const tracing = new OpenTelemetryTracing('http/json', { version: '1', roles: [] });
    tracing.startRequest(undefined)?.end({ method: 'GET', route: '/', status: 200 });
    await expect(tracing.close()).resolves.toBeUndefined();
  });
});
