import type { AddressInfo, Socket } from 'node:net';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { SMTPServerDataStream, SMTPServerOptions, SMTPServerSession } from 'smtp-server';
import { Clock } from '../../common/clock';
import { opensPort } from '../../common/network';
import { ListenerCertificate } from '../../common/tls/listener-certificate';
import { BulkSmtpServer, peerOf } from '../../common/smtp/bulk-smtp-server';
import { AppConfig } from '../../config/config';
import { ConnectionPlaces } from './connection-places';
import { InboundLimits } from './inbound-limits';
import { InboundMetrics } from './inbound.metrics';
import { InboundReception } from './inbound-reception';
import { type SmtpRefusal, tooManyConnections } from './smtp-refusal';

/** A command line carries an address and a few parameters; RFC 5321 section 4.5.3.1.4 asks for 512 octets. */
const MAX_COMMAND_BYTES = 2_048;
/** Nobody logs in here, and no proxy stands before the listener; WIZ, SHELL and KILL are additions of the library. */
const DISABLED_COMMANDS = ['AUTH', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL', 'HELP'];

/**
 * The listener for mail from everywhere: SMTP from unknown clients, for our own return paths, three public mailboxes and the
 * inbound routes of organizations. It offers STARTTLS (RFC 3207) where there is a certificate, no AUTH and no relaying, does
 * not disclose which mailboxes exist (VRFY returns 252, EXPN 500), and ends a message at CRLF.CRLF only.
 */
@Injectable()
export class InboundSmtpServer implements OnApplicationShutdown {
  private readonly logger = new Logger(InboundSmtpServer.name);
  private readonly server: BulkSmtpServer;
  private readonly places: ConnectionPlaces;
  private offersTls = false;
  private unwatch = (): void => undefined;
  private listening: Promise<number> | undefined;
  private stopping: Promise<void> | undefined;

  constructor(
    private readonly config: AppConfig,
    private readonly limits: InboundLimits,
    private readonly metrics: InboundMetrics,
    private readonly reception: InboundReception,
    private readonly certificate: ListenerCertificate,
    clock: Clock,
  ) {
    this.server = new BulkSmtpServer(this.options());
    this.places = new ConnectionPlaces(limits, clock, (socket) => void this.server.topOf(socket).destroy());
    this.server.server.prependListener('connection', (socket: Socket) => this.watch(socket));
    // Those that are too many have places in which they read the refusal.
    this.server.shareConnections(4 * limits.maxConnections, (peer) => this.places.isProven(peer));
  }

  /** Opens the port the first time it is called; returns the port. */
  listen(): Promise<number> {
    this.listening ??= this.start();
    return this.listening;
  }

  onApplicationShutdown(): Promise<void> {
    return this.stop();
  }

  /** Takes no more connections, and waits for some seconds for those that are open; once. */
  stop(): Promise<void> {
    this.unwatch();
    this.stopping ??= this.listening ? new Promise<void>((resolve) => this.server.close(resolve)) : Promise.resolve();
    return this.stopping;
  }

  private async start(): Promise<number> {
    await this.prepareTls();
    const { server } = this;
    const { http, inboundSmtpPort: port } = this.config;
    const opening = new Promise<number>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, http.host, () => {
        server.off('error', reject);
        // A connection that breaks is the client's affair, but without a listener it would end the process.
        server.on('error', (error) => this.logger.debug(`A connection failed: ${error.message}`));
        resolve((server.server.address() as AddressInfo).port);
      });
    });
    return opensPort('INBOUND_SMTP_PORT', { host: http.host, port }, opening);
  }

  private async prepareTls(): Promise<void> {
    const certificate = await this.certificate.load();
    if (!certificate) return;
    this.offersTls = true;
    this.server.updateSecureContext({ ...certificate });
    this.unwatch = this.certificate.watch((next) => this.server.updateSecureContext({ ...next }));
  }

  private options(): SMTPServerOptions {
    const { limits, reception } = this;
    return {
      name: this.config.delivery.mailHost,
      banner: 'for our own domains only',
      disabledCommands: DISABLED_COMMANDS,
      disableReverseLookup: true,
      size: reception.maxMessageBytes,
      maxRecipients: limits.maxRecipients,
      maxCommandLength: MAX_COMMAND_BYTES,
      socketTimeout: limits.idleMs,
      closeTimeout: limits.closeMs,
      logger: false,
      onConnect: (session, callback) => callback(this.connect(session)),
      onClose: (session) => this.places.closed(peerOf(session)),
      onRcptTo: (address, session, callback) =>
        void reception.admit(address, session).then((isProof) => this.admitted(session, isProof, callback), callback),
      onData: (stream, session, callback) =>
        void this.receive(stream, session).then(() => callback(null, '2.6.0 Taken'), callback),
    };
  }

  private connect(session: SMTPServerSession): SmtpRefusal | null {
    session.disabledCommands = this.offersTls ? DISABLED_COMMANDS : [...DISABLED_COMMANDS, 'STARTTLS'];
    if (this.places.isServed(peerOf(session))) return null;
    const refusal = tooManyConnections();
    this.metrics.countRefusal(refusal.reason);
    return refusal;
  }

  private admitted(session: SMTPServerSession, isProof: boolean, callback: () => void): void {
    this.places.admitted(peerOf(session), isProof);
    callback();
  }

  private async receive(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> {
    const peer = peerOf(session);
    let isTaken = false;
    stream.once('end', () => this.places.storing(peer));
    try {
      await this.reception.receive(stream, session);
      isTaken = true;
    } finally {
      this.places.settled(peer, isTaken);
    }
  }

  /** The library removes all listeners from a socket when TLS starts, and reports the end itself, a moment late. */
  private watch(socket: Socket): void {
    this.metrics.countConnection();
    const peer = peerOf(socket);
    this.places.enter(peer, socket);
    socket.once('close', () => this.places.closed(peer));
  }
}
