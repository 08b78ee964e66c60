import { Injectable } from '@nestjs/common';
import { MINUTE, SECOND } from '../../common/clock';

/** What one client, one organization, and all of them together may take of the listener. */
@Injectable()
export class SubmissionLimits {
  /** At a time; more are answered 421. */
  readonly maxSessions: number = 500;
  /** Of one client address (of IPv6: one /64 network). Whole offices and clusters share one. */
  readonly maxSessionsOfClient: number = 100;
  /** That are logged in with keys of one organization: the others keep four fifths. */
  readonly maxSessionsOfOrganization: number = 100;
  /** Until a client has logged in. */
  readonly unprovenMs: number = 30 * SECOND;
  readonly maxRecipients: number = 50;
  readonly maxMessageBytes: number = 25 * 1024 * 1024;
  /** A client that goes on beyond the limit is answered 552 at its end of data, up to here; then it is cut off. */
  readonly maxDataBytes: number = 50 * 1024 * 1024;
  /** Wrong passwords of one client address at all processes, in so many minutes; then all it gets is 421. */
  readonly maxFailures: number = 10;
  readonly failureMinutes: number = 10;
  /** Without a byte from the client. */
  readonly idleMs: number = MINUTE;
  /** For one message, however busy the client looks. */
  readonly dataMs: number = 10 * MINUTE;
  /** How often sessions are looked at: a revoked key's end within this time, and two seconds. */
  readonly sweepMs: number = 2 * SECOND;
}
