/** OTLP over HTTP; gRPC is not there. */
export const OTLP_PROTOCOLS = ['http/protobuf', 'http/json'] as const;

export type OtlpProtocol = (typeof OTLP_PROTOCOLS)[number];

/**
 * A span of a sampled trace, to be the parent of others: trace id and span id as 48 hexadecimal characters. Small, since it
 * is kept with every delivery of a sampled send; of a trace that is not sampled there is none.
 */
export type TraceContext = string;

/** Attributes of a span. No addresses, no texts. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** A piece of work that is over. */
export interface FinishedSpan {
  readonly name: string;
  /** The part it plays between processes; `internal` when absent. */
  readonly kind?: 'producer' | 'consumer' | 'client';
  readonly parent: TraceContext;
  readonly startedAt: Date;
  readonly endedAt: Date;
  readonly attributes: SpanAttributes;
  /** The error, as one word. */
  readonly error?: string | undefined;
}

/** A request that is being served, and is traced. */
export interface RequestSpan {
  readonly context: TraceContext;
  /** @param route its pattern; undefined when no route took it */
  end(answer: { readonly method: string; readonly route: string | undefined; readonly status: number }): void;
}

/** A message that is being taken over SMTP, and is traced. */
export interface MessageSpan {
  readonly context: TraceContext;
  /** @param code of the final reply; undefined when the client has closed */
  end(reply: { readonly code: number | undefined; readonly reason?: string | undefined }): void;
}

/** Where spans go: nowhere, unless tracing is on. Nothing here waits for the network, and nothing throws. */
export abstract class Tracing {
  abstract readonly isOn: boolean;
  /**
   * Starts the span of a request, as the child of the client's.
   * @param traceParent the header `traceparent` (W3C Trace Context), if present
   * @returns undefined when the trace is not sampled
   */
  abstract startRequest(traceParent: string | undefined): RequestSpan | undefined;
  /** Starts the span of a message over SMTP, and with it a trace. @returns undefined when it is not sampled */
  abstract startMessage(): MessageSpan | undefined;
  /** Records what is over. @returns its context, for those within it */
  abstract record(span: FinishedSpan): TraceContext;
  /** Sends what is still here. */
  abstract close(): Promise<void>;
}

/** Tracing that is off: no library is loaded, and nothing is remembered. */
export class NoTracing extends Tracing {
  readonly isOn = false;

  startRequest(): undefined {
    return undefined;
  }

  startMessage(): undefined {
    return undefined;
  }

  record({ parent }: FinishedSpan): TraceContext {
    return parent;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
