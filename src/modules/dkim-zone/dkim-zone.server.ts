import type { RemoteInfo } from 'node:dgram';
import type { Socket } from 'node:net';
import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { shareConnections } from '../../common/connection-shares';
import { opensPort } from '../../common/network';
import { AppConfig } from '../../config/config';
import { DkimZoneLimits, ReplyRate } from './dkim-zone-limits';
import { DkimZoneMetrics } from './dkim-zone.metrics';
import { DkimZoneService } from './dkim-zone.service';
import { udpLimitOf } from './dns-reply';
import { bindBoth, closeBoth, type DnsSockets, serveStream } from './dns-transport';

const MAX_STREAM_REPLY_BYTES = 65_535;

/**
 * The responder's listeners, UDP and TCP on one port; without a zone there is nothing to answer, and it listens on
 * nothing. Closed before the database is, so that what is under way can end.
 */
@Injectable()
export class DkimZoneServer implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(DkimZoneServer.name);
  private readonly rate: ReplyRate;
  private readonly connections = new Set<Socket>();
  private readonly pending = new Set<Promise<void>>();
  private sockets: Promise<DnsSockets> | undefined;

  constructor(
    private readonly config: AppConfig,
    private readonly zone: DkimZoneService,
    private readonly limits: DkimZoneLimits,
    private readonly metrics: DkimZoneMetrics,
    clock: Clock,
  ) {
    this.rate = new ReplyRate(limits.repliesPerSecond, clock);
  }

  async onApplicationBootstrap(): Promise<void> {
    const { dkimZone } = this.config.dns;
    if (dkimZone === undefined) this.logger.log('No DKIM_ZONE is delegated: the DNS responder has nothing to answer');
    else this.logger.log(`The DNS responder answers for ${dkimZone} on port ${await this.listen()}`);
  }

  /** Starts the listeners the first time it is called; returns their port. @throws when it is taken */
  async listen(): Promise<number> {
    this.sockets ??= this.start();
    return (await this.sockets).port;
  }

  async beforeApplicationShutdown(): Promise<void> {
    const sockets = await this.sockets?.catch(() => undefined);
    if (!sockets) return;
    sockets.datagrams.removeAllListeners('message');
    await Promise.all(this.pending);
    for (const connection of this.connections) connection.destroy();
    await closeBoth(sockets);
  }

  private async start(): Promise<DnsSockets> {
    const { host } = this.config.http;
    const { port } = this.config.dns;
    const sockets = await opensPort('DNS_PORT', { host, port }, bindBoth(host, port));
    const { datagrams, streams } = sockets;
    datagrams.on('message', (message, peer) => this.receive(message, peer, sockets));
    const { maxConnections, maxConnectionsPerClient: maxOfClient } = this.limits;
    shareConnections(streams, { maxConnections, maxOfClient });
    streams.on('connection', (socket) => this.serve(socket));
    // An ICMP answer, a client that has gone before it was accepted: no fault here, but without a listener it ends the process.
    for (const listener of [datagrams, streams]) {
      listener.on('error', (error: Error) => this.logger.debug(`A client failed: ${error.message}`));
    }
    return sockets;
  }

  private receive(message: Buffer, peer: RemoteInfo, { datagrams }: DnsSockets): void {
    if (this.pending.size >= this.limits.maxPending || peer.port === 0) {
      this.metrics.countDropped();
      return;
    }
    const exceeded = this.rate.isExceeded(peer.address);
    const answering = this.zone
      .answer(message.subarray(0, this.limits.maxQueryBytes), exceeded ? undefined : udpLimitOf)
      // Whether a datagram arrives is not known anyway.
      .then((reply) => reply && datagrams.send(reply, peer.port, peer.address, () => undefined))
      .catch((error: Error) => this.logger.error(`A query could not be answered: ${error.message}`))
      .finally(() => this.pending.delete(answering));
    this.pending.add(answering);
  }

  private serve(socket: Socket): void {
    if (socket.destroyed) return;
    this.connections.add(socket);
    socket.once('close', () => this.connections.delete(socket));
    void serveStream(socket, (message) => this.zone.answer(message, () => MAX_STREAM_REPLY_BYTES), this.limits);
  }
}
