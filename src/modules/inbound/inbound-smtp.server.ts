import type { AddressInfo, Socket } from 'node:net';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server';
import { clientNetworkOf } from '../../common/http/client-address';
import { HeldPlaces } from '../../common/http/connection-shares';
import { opensPort } from '../../common/network';
import { ListenerCertificate } from '../../common/tls/listener-certificate';
import { BulkSmtpServer, peerOf } from '../../common/smtp/bulk-smtp-server';
import { AppConfig } from '../../config/config';
import { InboundLimits } from './inbound-limits';
import { InboundMetrics } from './inbound.metrics';
import { InboundReception } from './inbound-reception';
import { type SmtpRefusal, tooManyConnections } from './smtp-refusal';

/** A command line carries an address and a few parameters; RFC 5321 section 4.5.3.1.4 asks for 512 octets. */
const MAX_COMMAND_BYTES = 2_048;
const NEVER = ['AUTH', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL', 'HELP'];

interface OpenConnection {
  readonly socket: Socket;
  /** What to do at its end. */
  readonly leave: () => void;
}

/**
 * The listener for mail from everywhere: SMTP from unknown clients, for our own return paths, three public mailboxes and the
 * inbound routes of organizations. It offers STARTTLS (RFC 3207) where there is a certificate, no AUTH and no relaying, does
 * not disclose which mailboxes exist (VRFY returns 252, EXPN 500), and ends a message at CRLF.CRLF only.
 */
@Injectable()
export class InboundSmtpServer implements OnApplicationShutdown {
  private readonly logger = new Logger(InboundSmtpServer.name);
  private readonly server: BulkSmtpServer;
  /** Open connections by client: those that are served. */
  private readonly connectionsOf = new Map<string, number>();
  private served = 0;
  /** By peer. */
  private readonly open = new Map<string, OpenConnection>();
  /** Peers that are turned away. They take no connection slot, so that of many who come at once as many as may are served. */
  private readonly surplus = new Set<string>();
  /** Peers that are served and have named no recipient: they give way when there is no room. */
  private readonly mayGiveWay = new HeldPlaces<string>();
  /** Peers that have named a recipient. */
  private readonly proven = new Set<string>();
  /** The ends of connections in which no recipient has been accepted, by peer. */
  private readonly unproven = new Map<string, NodeJS.Timeout>();
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
  ) {
    this.server = new BulkSmtpServer(this.options());
    this.server.server.prependListener('connection', (socket: Socket) => this.watch(socket));
    // Those that are too many have places in which they read the refusal.
    this.server.shareConnections(4 * limits.maxConnections, (peer) => this.proven.has(peer));
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
      disabledCommands: NEVER,
      disableReverseLookup: true,
      size: reception.maxMessageBytes,
      maxRecipients: limits.maxRecipients,
      maxCommandLength: MAX_COMMAND_BYTES,
      socketTimeout: limits.idleMs,
      closeTimeout: limits.closeMs,
      logger: false,
      onConnect: (session, callback) => callback(this.connect(session)),
      onClose: (session) => this.closed(peerOf(session)),
      onRcptTo: (address, session, callback) =>
        void reception.admit(address, session).then((isProof) => this.admitted(session, isProof, callback), callback),
      onData: (stream, session, callback) =>
        void reception.receive(stream, session).then(() => callback(null, '2.6.0 Taken'), callback),
    };
  }

  private connect(session: SMTPServerSession): SmtpRefusal | null {
    session.disabledCommands = this.offersTls ? NEVER : [...NEVER, 'STARTTLS'];
    if (!this.surplus.has(peerOf(session))) return null;
    const refusal = tooManyConnections();
    this.metrics.countRefusal(refusal.reason);
    return refusal;
  }

  /** A client that has named a recipient may take its time; one that knows an address which is not public gives way to none. */
  private admitted(session: SMTPServerSession, isProof: boolean, callback: () => void): void {
    const peer = peerOf(session);
    clearTimeout(this.unproven.get(peer));
    if (isProof) this.mayGiveWay.remove(clientNetworkOf(session.remoteAddress), peer);
    // It may have ended meanwhile.
    if (isProof && this.open.has(peer)) this.proven.add(peer);
    callback();
  }

  private openOf(client: string): number {
    return this.connectionsOf.get(client) ?? 0;
  }

  /** The idle limit alone would let a client that sends single bytes stay connected without end. */
  private watch(socket: Socket): void {
    this.metrics.countConnection();
    const peer = peerOf(socket);
    this.closed(peer);
    const end = (): void => void this.server.topOf(socket).destroy();
    const timers = [setTimeout(end, this.limits.connectionMs), setTimeout(end, this.limits.unprovenMs)] as const;
    const leave = this.enter(peer, clientNetworkOf(socket.remoteAddress ?? ''));
    this.unproven.set(peer, timers[1]);
    this.open.set(peer, {
      socket,
      leave: () => {
        for (const timer of timers) clearTimeout(timer);
        this.unproven.delete(peer);
        this.proven.delete(peer);
        leave();
      },
    });
    socket.once('close', () => this.closed(peer));
  }

  /**
   * The library removes all listeners from a socket when TLS starts, and reports the end itself, a moment late: another
   * connection of the same port may exist by then.
   */
  private closed(peer: string): void {
    const known = this.open.get(peer);
    if (!known?.socket.destroyed) return;
    this.open.delete(peer);
    known.leave();
  }

  /** Ends a connection for another client's; false when none gives way. */
  private makeRoom(client: string): boolean {
    const peer = this.mayGiveWay.givingWayTo(client);
    const known = peer === undefined ? undefined : this.open.get(peer);
    if (peer === undefined || !known) return false;
    this.open.delete(peer);
    known.leave();
    void this.server.topOf(known.socket).destroy();
    return true;
  }

  /** Counts a connection where there is room for it. @returns what to do at its end */
  private enter(peer: string, client: string): () => void {
    const { maxConnections, maxConnectionsOfClient } = this.limits;
    const hasShare = this.openOf(client) < maxConnectionsOfClient;
    if (!hasShare || (this.served >= maxConnections && !this.makeRoom(client))) {
      this.surplus.add(peer);
      return () => void this.surplus.delete(peer);
    }
    this.count(client, 1);
    this.mayGiveWay.add(client, peer);
    return () => {
      this.mayGiveWay.remove(client, peer);
      this.count(client, -1);
    };
  }

  private count(client: string, by: 1 | -1): void {
    this.served += by;
    const open = this.openOf(client) + by;
    if (open > 0) this.connectionsOf.set(client, open);
    else this.connectionsOf.delete(client);
  }
}
