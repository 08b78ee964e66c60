import type { TransmissionResult } from '../policy/transmission-result';
import type { ClaimedDelivery } from '../ports/delivery';

/** A message ready for the wire. */
export interface SignedMessage {
  readonly bytes: Buffer;
  /** Envelope sender. */
  readonly returnPath: string;
  readonly smtpUtf8: boolean;
}

/** Carries a message to the next hop. */
export abstract class Transmitter {
  /**
   * One attempt. Never throws for what the network or the remote side do.
   * @param mayFinish asked right before the final dot; false aborts the attempt safely
   */
  abstract transmit(
    delivery: ClaimedDelivery,
    message: SignedMessage,
    mayFinish: () => boolean,
  ): Promise<TransmissionResult>;

  /** Connections of any state. */
  abstract get openConnections(): number;

  /** Waits for running conversations, then closes idle connections. */
  abstract close(): Promise<void>;

  /** Ends every conversation now. */
  abstract destroy(): void;
}
