import type { SmtpConnection } from './smtp-connection';

/** A hold on the conversation of one attempt, for the code that may have to end it. */
export class Conversation {
  private connection: SmtpConnection | undefined;
  private wasCut = false;

  /** Called when the attempt has got a connection. */
  begin(connection: SmtpConnection): void {
    this.connection = connection;
  }

  /** Called when the connection is no longer the attempt's. */
  end(): void {
    this.connection = undefined;
  }

  /** How long it has been waiting for the other side, the reply to the final dot included. */
  get waitingMs(): number {
    return this.connection?.waitingMs ?? 0;
  }

  /** How long the other side has been silent; 0 when it is not its turn, or must not be hurried. */
  get silentMs(): number {
    return this.connection?.silentMs ?? 0;
  }

  /** True when the attempt is to end with what it has come to. */
  get isCutShort(): boolean {
    return this.wasCut;
  }

  cutShort(): void {
    this.wasCut = true;
    this.connection?.cutShort();
  }
}
