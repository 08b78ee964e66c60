import { Injectable } from '@nestjs/common';
import { MINUTE, SECOND } from '../../common/clock';

/** An amount of mail. */
export interface Volume {
  readonly messages: number;
  readonly bytes: number;
}

/** What one client, and all of them together, may take of the listener. How many reports are stored is `InboundReportLimits`. */
@Injectable()
export class InboundLimits {
  /** At a time; more get 421. */
  readonly maxConnections: number = 200;
  /** Of one client address (of IPv6: one /64 network): no client can take the listener from the others. */
  readonly maxConnectionsOfClient: number = 20;
  /** Until a recipient has been accepted; a client that has named none is no reporter. */
  readonly unprovenMs: number = 30 * SECOND;
  /** Without a message that is taken, after which a connection that names a recipient gives way to another client's when there is no room. */
  readonly contestedMs: number = 30 * SECOND;
  /** RFC 5321 section 4.5.3.1.8. */
  readonly maxRecipients: number = 100;
  /** Of one message: one for each route, however many recipients it takes, and one for each return path. */
  readonly maxCopies: number = 10;
  /** Refused recipients in one connection, before it is cut: a client that is refused so often is guessing. */
  readonly maxRefusals: number = 20;
  /**
   * Kept of a message to a return path, from its start; the rest is a copy of our mail, which may be large. How large a message
   * may be is `InboundMailLimits`.
   */
  readonly keptReportBytes: number = 2 * 1024 * 1024;
  /** To a public mailbox, without a token; of a feedback report the first part, of other mail more is refused. */
  readonly maxFeedbackBytes: number = 512 * 1024;
  /** A client that exceeds the limit gets 552 at its end of data, up to this size; beyond it the connection closes. */
  readonly maxDataBytes: number = 50 * 1024 * 1024;
  /** Messages to routes from one client network in an hour, of each process; more are put off. */
  readonly maxRoutedPerHourOfClient: number = 2_000;
  /** Of them to one organization. */
  readonly maxRoutedToOrganization: Volume = { messages: 1_000, bytes: 1024 ** 3 };
  /** What an organization and a route of it take of all networks (`InboundMailLimits`): beside others, one has no more than it leaves to them. */
  readonly routedInAll: Readonly<Record<'organization' | 'route', Volume>> = {
    organization: { messages: 5_000, bytes: 2 * 1024 ** 3 },
    route: { messages: 2_000, bytes: 2 * 1024 ** 3 },
  };
  /** Without a byte from the client. */
  readonly idleMs: number = 60 * SECOND;
  /** For a whole connection, however active it is. */
  readonly connectionMs: number = 10 * MINUTE;
  /** For open connections when the service stops. */
  readonly closeMs: number = 5 * SECOND;
}
