import type { SMTPServerOptions } from 'smtp-server';
import { BulkSmtpServer } from '../../common/mime/bulk-smtp-server';

/** A reply that names its own enhanced code (RFC 3463). */
const HAS_CODE = /^[245]\.\d{1,3}\.\d{1,3} /;

/**
 * The library's server with enhanced codes (RFC 2034) that fit: it puts one and the same before all replies of a code, but a
 * 550 of ours may be 5.7.1 or 5.6.0. A text that begins with a code keeps it.
 */
export class EnhancedSmtpServer extends BulkSmtpServer {
  constructor(options: SMTPServerOptions) {
    super({ ...options, hideENHANCEDSTATUSCODES: false });
  }

  protected override adopt(connection: Parameters<BulkSmtpServer['adopt']>[0]): void {
    super.adopt(connection);
    const send = connection.send.bind(connection);
    connection.send = (code, data, context) => {
      const hasOwn = typeof data === 'string' && HAS_CODE.test(data);
      send(code, data, hasOwn ? false : context);
    };
  }

  /** Ends the connection of a session with 421. */
  cut(sessionId: string, text: string): void {
    for (const connection of this.connections) {
      if (connection.session.id === sessionId) connection.send(421, text);
    }
  }
}
