import type { AddressInfo } from 'node:net';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import { SECOND } from '../../common/clock';
import { concatInTurns } from '../../common/mime/body-parts';
import { MailboxIntakeService } from './mailbox-intake.service';
import type { ReceivedMessage } from './mailbox-message.entity';

const MAX_MESSAGE_BYTES = 50 * 1024 * 1024;
/** The worker has disconnected by then; only other clients may still be connected. */
const CLOSE_TIMEOUT_MS = SECOND;

/**
 * The receiving side of local mode: an SMTP listener on the loopback interface that accepts everything and replies 250 once the
 * message is committed to the mailbox.
 */
@Injectable()
export class MailboxSmtpServer implements OnApplicationShutdown {
  private readonly logger = new Logger(MailboxSmtpServer.name);
  private listening: Promise<number> | undefined;
  private server: SMTPServer | undefined;

  constructor(private readonly intake: MailboxIntakeService) {}

  /** Starts the listener the first time it is called; returns its port. */
  listen(): Promise<number> {
    this.listening ??= this.start();
    return this.listening;
  }

  async onApplicationShutdown(): Promise<void> {
    const { server } = this;
    if (server) await new Promise<void>((resolve) => server.close(resolve));
  }

  private start(): Promise<number> {
    const server = new SMTPServer({
      name: 'mailbox.localhost',
      banner: 'Waybill mailbox',
      disabledCommands: ['AUTH', 'STARTTLS', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL'],
      lenientAddressParsing: true,
      disableReverseLookup: true,
      hideENHANCEDSTATUSCODES: false,
      size: MAX_MESSAGE_BYTES,
      rejectOversized: true,
      closeTimeout: CLOSE_TIMEOUT_MS,
      logger: false,
      onData: (stream, session, callback) =>
        void this.receive(stream, session).then((text) => callback(null, text), callback),
    });
    this.server = server;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', () => {
        server.off('error', reject);
        // A broken connection is no fault of this side, but without a listener for the event the process would end.
        server.on('error', (error) => this.logger.debug(`A connection failed: ${error.message}`));
        resolve((server.server.address() as AddressInfo).port);
      });
    });
  }

  /** Returns the text of the 250. */
  private async receive(stream: SMTPServerDataStream, { envelope }: SMTPServerSession): Promise<string> {
    const raw = await collect(stream);
    // smtp-server replies 552 itself.
    if (raw === undefined) return '';
    const message: ReceivedMessage = {
      returnPath: envelope.mailFrom ? envelope.mailFrom.address : '',
      recipients: envelope.rcptTo.map(({ address }) => address),
      raw,
    };
    try {
      return `Kept as ${await this.intake.store(message)}`;
    } catch (error) {
      this.logger.warn(`A message could not be kept: ${(error as Error).message}`);
      throw Object.assign(new Error('The mailbox is temporarily unavailable'), { responseCode: 451 });
    }
  }
}

/** The whole message; undefined when it is larger than the limit. */
async function collect(stream: SMTPServerDataStream): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (stream.sizeExceeded) chunks.length = 0;
    else chunks.push(chunk);
  }
  return stream.sizeExceeded ? undefined : concatInTurns(chunks, 'mailbox');
}
