import { SECOND, SystemClock } from '../../../common/clock';
import type { Try } from './second-try';
import type { Conversation, SmtpConnection } from '../conversation/smtp-connection';
import type { SmtpEndpoint } from '../conversation/smtp-endpoint';
import type { SmtpEnvelope } from '../conversation/smtp-envelope';
import type { SmtpResult } from '../conversation/smtp-result';
import type { SmtpHooks } from '../conversation/smtp-transaction';

/** One message for one recipient. */
export interface SmtpJob {
  readonly envelope: SmtpEnvelope;
  /** Complete bytes with CRLF line ends, not dot-stuffed. */
  readonly message: Buffer;
  readonly hooks: SmtpHooks;
  /** The pool's own next hop with what this mail demands of the connection; as the pool was made when absent. */
  readonly endpoint?: SmtpEndpoint;
  /** What is left of the attempt's time. */
  readonly attemptSeconds?: number;
  readonly conversation?: Conversation;
  /** Whose mail it is: who may open so many connections with TLS. */
  readonly holder?: string;
}

/** A job in a pool's queue. */
export interface Entry extends Try {
  readonly job: SmtpJob;
  /** The end of the attempt, whatever its result; set with the second try. */
  readonly endsMs?: number;
  readonly resolve: (result: SmtpResult) => void;
  readonly reject: (error: unknown) => void;
}

const clock = new SystemClock();

/** Whether the job may go over this connection. */
export function isFor(connection: SmtpConnection, { needsFresh, endpoint }: Entry): boolean {
  return !needsFresh && connection.suits(endpoint);
}

/** What is left of the attempt's time; waiting for a second connection may have taken it all. */
export function secondsOf({ job, endsMs }: Entry): number | undefined {
  return endsMs === undefined ? job.attemptSeconds : Math.max(0, endsMs - clock.monotonicMs()) / SECOND;
}
