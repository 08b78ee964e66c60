import { Client } from 'pg';
import { ConnectError } from './database-errors';

/** The driver's client. Where it cannot connect, the error is a `ConnectError`. */
export class DriverClient extends Client {
  override connect(): Promise<Client>;
  override connect(done: (error: Error) => void): void;
  override connect(done?: (error: Error) => void): Promise<Client> | void {
    // As the pool calls it; without an error there is no argument.
    if (done) return super.connect((error: Error | null) => done(error ? new ConnectError(error) : (error as never)));
    return super.connect().catch((error: Error) => {
      throw new ConnectError(error);
    });
  }
}
