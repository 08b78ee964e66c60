import type { AddressInfo } from 'node:net';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import { Clock, SECOND } from '../../common/clock';
import { concatInTurns } from '../../common/mime/body-parts';
import type { NewMailboxMessage, ReceivedMessage } from './mailbox-message.entity';
import { OrganizationsService } from '../../auth/organizations/organizations.service';
import { deriveKey } from '../../common/encryption/encryption';
import { newId } from '../../common/ids';
import { MicroBatcher } from '../../common/async/micro-batcher';
import { AppConfig } from '../../config/config';
import { ReturnPath } from '../../delivery/tokens/return-path';
import { MailboxRepository } from './mailbox.repository';
import { summarize } from './message-reader';

const MIB = 1024 * 1024;
/** Weight of a row in addition to its bytes: a batch holds at most 256 messages. */
const ROW_WEIGHT = 16 * 1024;

/** The mailbox is trimmed to KEEP once SLACK has been added; together that is 1,100 messages and 200 MB. */
const KEEP = { messages: 1_000, bytes: 180 * MIB };
const SLACK = { messages: 100, bytes: 10 * MIB };

/**
 * Adds received messages to the mailbox and removes old ones. Concurrent messages share one insert (about 4,000
 * messages of 3.5 kB a second over 20 connections, on two cores with client and database; an insert each: 2,500).
 */
@Injectable()
export class MailboxIntakeService {
  private readonly logger = new Logger(MailboxIntakeService.name);
  private readonly batcher = new MicroBatcher<ReceivedMessage, string>((messages) => this.keep(messages), {
    maxWeight: 4 * MIB,
    weightOf: ({ raw }) => raw.length + ROW_WEIGHT,
    concurrency: 2,
  });
  /** Added since the last trim; unknown after a start, so the first batch trims. */
  private since = { messages: SLACK.messages, bytes: 0 };

  private readonly returnPath: ReturnPath;

  constructor(
    private readonly mailbox: MailboxRepository,
    private readonly organizations: OrganizationsService,
    private readonly clock: Clock,
    { masterKey }: AppConfig,
  ) {
    this.returnPath = new ReturnPath(deriveKey(masterKey, 'return-path'), clock);
  }

  /**
   * Returns the message's id once it is committed.
   * @throws UnavailableError
   */
  store(message: ReceivedMessage): Promise<string> {
    return this.batcher.add(message);
  }

  private async keep(messages: readonly ReceivedMessage[]): Promise<string[]> {
    const rows = await Promise.all(messages.map((message) => this.rowOf(message)));
    await this.mailbox.insert(rows);
    await this.trimWhenDue(rows);
    return rows.map(({ id }) => id);
  }

  private async rowOf(message: ReceivedMessage): Promise<NewMailboxMessage> {
    const organizationId = await this.ownerOf(message);
    return { ...message, ...summarize(message.raw), id: newId(), receivedAt: this.clock.now(), organizationId };
  }

  /** The organization of a message; only a genuine return path leads to a query, once for each organization. */
  private async ownerOf({ returnPath }: ReceivedMessage): Promise<string | null> {
    const target = this.returnPath.open(returnPath.slice(0, Math.max(0, returnPath.lastIndexOf('@'))));
    return (target && (await this.organizations.findByOrdinal(target.organizationOrdinal))) ?? null;
  }

  private async trimWhenDue(added: readonly NewMailboxMessage[]): Promise<void> {
    this.since.messages += added.length;
    this.since.bytes += added.reduce((sum, { raw }) => sum + raw.length, 0);
    if (this.since.messages < SLACK.messages && this.since.bytes < SLACK.bytes) return;
    this.since = { messages: 0, bytes: 0 };
    try {
      await this.mailbox.trim(KEEP.messages, KEEP.bytes);
    } catch (error) {
      // The messages are committed; a later batch trims for this one too.
      this.logger.warn(`The mailbox could not be trimmed: ${(error as Error).message}`);
    }
  }
}

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
