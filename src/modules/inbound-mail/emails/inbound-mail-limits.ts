import { Injectable } from '@nestjs/common';
import type { InboundCapacity } from './inbound-email';

/** What mail to routes may take. What a single client may is `InboundLimits`, what is authenticated `AuthenticationLimits`. */
@Injectable()
export class InboundMailLimits {
  readonly maxRoutes: number = 1_000;
  /** How many of the newest emails are searched for an address, or for those of a domain: rows of about 2 kB. */
  readonly searchWindow: number = 50_000;
  readonly maxMessageBytes: number = 25 * 1024 * 1024;
  /** Of all listeners together; more is put off with 452. */
  readonly capacity: Omit<InboundCapacity, 'storedBytes'> = {
    perHour: 5_000,
    bytesPerHour: 2 * 1024 ** 3,
    perRouteAndHour: 2_000,
  };
}
