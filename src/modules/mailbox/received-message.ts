/** What the listener hands over: the envelope, and the message as it came. */
export interface ReceivedMessage {
  /** Empty for the null sender. */
  readonly returnPath: string;
  readonly recipients: readonly string[];
  readonly raw: Buffer;
}

/** A row of the mailbox: the message with what the lists show of it. */
export interface NewMailboxMessage extends ReceivedMessage {
  readonly id: string;
  readonly receivedAt: Date;
  readonly sender: string;
  readonly subject: string;
}
