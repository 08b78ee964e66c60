import { SetMetadata } from '@nestjs/common';

/** Which of a key's limits an endpoint counts against; the figures are throttling's. */
export type EndpointClass =
  'send' | 'batch' | 'reads' | 'stats' | 'writes' | 'domain-writes' | 'gdpr-export' | 'gdpr-delete' | 'api-key-writes';

export const RATE_LIMIT_CLASS_METADATA = 'waybill:rate-limit-class';

/** The limit that a route counts against. Without it, GET counts as a read and everything else as a write. */
export function RateLimitClass(name: EndpointClass): MethodDecorator & ClassDecorator {
  return SetMetadata(RATE_LIMIT_CLASS_METADATA, name);
}
