import { Injectable } from '@nestjs/common';
import { SECOND } from '../../common/clock';
import type { InboundCapacity } from './inbound-email';

/** What mail to routes may take. What a single client may is `InboundLimits`. */
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
  /** For the look-ups of SPF, DKIM, DMARC and ARC; after it, `temperror`. */
  readonly authenticationMs: number = 10 * SECOND;
  /** Of a header that is authenticated; of real ones the longest have half of it. */
  readonly maxHeaderBytes: number = 48 * 1024;
  readonly maxHeaderLines: number = 1_000;
  /** Of a body that is authenticated: RFC 5322 has 998, and some mail has all its html in one. */
  readonly maxLineBytes: number = 128 * 1024;
  /** Signatures and ARC seals that are verified: each may cost a hash of the whole message. */
  readonly maxSignatures: number = 20;
}
