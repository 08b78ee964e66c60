import { RouteConfig } from '@nestjs/platform-fastify';

const KIB = 1024;
export const MIB = 1024 * KIB;

export interface BodyOptions {
  /** Larger bodies are answered 413. At least 64 KiB: routes can only raise the limit. */
  readonly maxBytes: number;
  /** Commas and colons outside strings; more are answered 400. */
  readonly maxItems: number;
  /** The body is read, within its limit, and dropped: routes that take any media type and need none of it. */
  readonly ignored: boolean;
  /** Elements of a top-level array stand alone: one that cannot be taken becomes its `ValidationError`. */
  readonly elementwise: boolean;
}

export const DEFAULT_BODY: BodyOptions = { maxBytes: 64 * KIB, maxItems: 20_000, ignored: false, elementwise: false };

/** 25 MiB of decoded attachments as base64, plus the bodies. */
export const SEND_BODY: BodyOptions = { ...DEFAULT_BODY, maxBytes: 40 * MIB };

/** 100 emails, each of up to 50 recipients as objects. */
export const BATCH_BODY: BodyOptions = { ...DEFAULT_BODY, maxBytes: 64 * MIB, maxItems: 100_000, elementwise: true };

/** Raises the limits of a route's body above the defaults (64 KiB, 20,000 items). */
export function TakesBody(options: Partial<BodyOptions>): MethodDecorator {
  return RouteConfig({ body: { ...DEFAULT_BODY, ...options } });
}
