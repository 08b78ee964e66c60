import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { Logger } from '@nestjs/common';
import { parseTraceParent, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import {
  type FinishedSpan,
  type MessageSpan,
  type OtlpProtocol,
  type RequestSpan,
  type TraceContext,
  Tracing,
} from './tracing';

/** Of this service; `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` win over it. */
export interface ServiceFacts {
  readonly version: string;
  readonly roles: readonly string[];
}

const SERVICE = 'waybill';
const CONTEXT = /^([0-9a-f]{32})([0-9a-f]{16})$/;
const KINDS = {
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  client: SpanKind.CLIENT,
} as const;

/**
 * Traces over OTLP. The SDK reads its own variables: where to send them and how (`OTEL_EXPORTER_OTLP_…`), which to keep
 * (`OTEL_TRACES_SAMPLER`), how to batch (`OTEL_BSP_…`). Spans are created at the end of the work, so no context follows a
 * request through the event loop, and unsampled work costs nothing after the first decision.
 */
export class OpenTelemetryTracing extends Tracing {
  readonly isOn = true;
  private readonly provider: BasicTracerProvider;
  private readonly tracer: Tracer;

  constructor(protocol: OtlpProtocol, { version, roles }: ServiceFacts) {
    super();
    const facts = { 'service.name': SERVICE, 'service.version': version, 'waybill.roles': [...roles] };
    const resource = defaultResource()
      .merge(resourceFromAttributes(facts))
      .merge(detectResources({ detectors: [envDetector] }));
    const exporter = protocol === 'http/json' ? new JsonExporter() : new ProtobufExporter();
    const logger = new Logger('Tracing');
    setGlobalErrorHandler((error: unknown) => {
      logger.warn(`Traces are not delivered: ${error instanceof Error ? error.message : JSON.stringify(error)}`);
    });
    this.provider = new BasicTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(exporter)] });
    this.tracer = this.provider.getTracer(SERVICE, version);
  }

  startRequest(traceParent: string | undefined): RequestSpan | undefined {
    const remote = traceParent === undefined ? null : parseTraceParent(traceParent);
    const parent = remote ? trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true }) : ROOT_CONTEXT;
    const span = this.tracer.startSpan('request', { kind: SpanKind.SERVER }, parent);
    if (!span.isRecording()) return undefined;
    return { context: contextOf(span), end: (answer) => endRequest(span, answer) };
  }

  startMessage(): MessageSpan | undefined {
    const span = this.tracer.startSpan('SMTP DATA', { kind: SpanKind.SERVER }, ROOT_CONTEXT);
    return span.isRecording() ? { context: contextOf(span), end: (reply) => endMessage(span, reply) } : undefined;
  }

  record({ name, kind, parent, startedAt, endedAt, attributes, error }: FinishedSpan): TraceContext {
    const options = {
      kind: kind ? KINDS[kind] : SpanKind.INTERNAL,
      startTime: startedAt,
      attributes: attributes as Attributes,
    };
    const span = this.tracer.startSpan(name, options, parentOf(parent));
    if (error !== undefined) {
      span.setAttribute('error.type', error);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end(endedAt);
    return contextOf(span);
  }

  /** Never rejects: a collector that is away costs the last spans only. */
  close(): Promise<void> {
    return this.provider.shutdown().catch(() => undefined);
  }
}

function endRequest(span: Span, { method, route, status }: Parameters<RequestSpan['end']>[0]): void {
  span.updateName(route === undefined ? method : `${method} ${route}`);
  span.setAttributes({ 'http.request.method': method, 'http.response.status_code': status });
  if (route !== undefined) span.setAttribute('http.route', route);
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

function endMessage(span: Span, { code, reason }: Parameters<MessageSpan['end']>[0]): void {
  span.setAttribute('network.protocol.name', 'smtp');
  if (code !== undefined) span.setAttribute('smtp.response.code', code);
  if (reason !== undefined) span.setAttribute('error.type', reason);
  // As of HTTP: what the client did wrong is no error of the service.
  if (reason === 'unavailable') span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

function contextOf(span: Span): TraceContext {
  const { traceId, spanId } = span.spanContext();
  return traceId + spanId;
}

/** Only sampled traces are remembered. */
function parentOf(context: TraceContext): Context {
  const [, traceId, spanId] = CONTEXT.exec(context) ?? [];
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT;
  const parent: SpanContext = { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
  return trace.setSpanContext(ROOT_CONTEXT, parent);
}
