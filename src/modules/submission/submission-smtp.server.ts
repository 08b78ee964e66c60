import type { AddressInfo } from 'node:net';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import {
  type SMTPServerAuthentication,
  type SMTPServerAuthenticationResponse,
  type SMTPServerDataStream,
  type SMTPServerOptions,
  type SMTPServerSession,
} from 'smtp-server';
import { CONNECTION_TURNS } from '../../common/async/shared-turns';
import { Clock, SECOND } from '../../common/clock';
import { clientNetworkOf, opensPort, type PortVariable } from '../../common/network';
import { peerOf } from '../../common/smtp/bulk-smtp-server';
import { ListenerCertificate } from '../../common/tls/listener-certificate';
import type { Certificate } from '../../common/tls/self-signed';
import { Tracing } from '../../common/tracing/tracing';
import { AppConfig } from '../../config/config';
import { isLoopback } from '../../common/dns/public-address';
import {
  dataTooSlow,
  EnhancedSmtpServer,
  keyEnded,
  loginNeeded,
  loginTooLate,
  replyTo,
  stopping,
  SubmissionRefusal,
  tlsNeeded,
  tooManySessions,
} from './submission-refusal';
import { SubmissionLimits, SubmissionLogin } from './submission-login';
import { type SubmissionSession, SubmissionSessions } from './submission-sessions';
import { receivedField, SubmissionReception } from './submission-reception';
import { SubmissionMetrics } from './submission.metrics';

/** A command line has an address and a few parameters, or a password. */
const MAX_COMMAND_BYTES = 4_096;
const NEVER = ['XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL', 'HELP'];

/** Where the listeners are; `implicitTls` only with a certificate. */
export interface SubmissionPorts {
  readonly port: number;
  readonly implicitTlsPort: number | undefined;
}

type Reply<T = undefined> = (error?: Error | null, result?: T) => void;

/** What sessions are served by. */
@Injectable()
export class SubmissionServices {
  constructor(
    readonly certificate: ListenerCertificate,
    readonly logins: SubmissionLogin,
    readonly reception: SubmissionReception,
  ) {}
}

/**
 * SMTP submission (RFC 6409): two ports, one with STARTTLS and one with TLS from the start (RFC 8314), behind them the same
 * as behind the API.
 *
 *   connected ──STARTTLS──► private ──AUTH──► logged in ──MAIL, RCPT, DATA──► logged in
 *
 * A session ends with 421 when it has not logged in in time, when its key is revoked, and when the service stops and no
 * message is under way.
 */
@Injectable()
export class SubmissionSmtpServer implements OnApplicationShutdown {
  private readonly logger = new Logger('Submission');
  private readonly sessions = new SubmissionSessions();
  private readonly servers: EnhancedSmtpServer[] = [];
  private listening: Promise<SubmissionPorts> | undefined;
  private stopped: Promise<void> | undefined;
  private unwatch = (): void => undefined;
  private sweeper: NodeJS.Timeout | undefined;
  private checking: Promise<void> | undefined;

  constructor(
    private readonly config: AppConfig,
    private readonly services: SubmissionServices,
    private readonly limits: SubmissionLimits,
    private readonly metrics: SubmissionMetrics,
    private readonly clock: Clock,
    private readonly tracing: Tracing,
  ) {}

  /** Opens the ports the first time it is called. */
  listen(): Promise<SubmissionPorts> {
    this.listening ??= this.start();
    return this.listening;
  }

  onApplicationShutdown(): Promise<void> {
    return this.stop();
  }

  /** Takes no more connections, ends those in which nothing is under way, and waits for the others; once. */
  stop(): Promise<void> {
    this.stopped ??= this.end();
    return this.stopped;
  }

  private async start(): Promise<SubmissionPorts> {
    const { port, implicitTlsPort } = this.config.submission;
    const certificate = await this.services.certificate.load();
    if (!certificate) {
      this.logger.warn('No TLS, so clients cannot log in: set TLS_CERT_FILE and TLS_KEY_FILE to take mail over SMTP');
    }
    this.metrics.watch(() => this.sessions.size);
    const opened = await this.open('SUBMISSION_PORT', port, this.optionsWith(certificate, false));
    const secure = certificate
      ? await this.open('SUBMISSIONS_PORT', implicitTlsPort, this.optionsWith(certificate, true))
      : undefined;
    this.unwatch = this.services.certificate.watch((next) => {
      for (const server of this.servers) server.updateSecureContext({ ...next });
    });
    this.sweeper = setInterval(() => this.sweep(), this.limits.sweepMs).unref();
    return { port: opened, implicitTlsPort: secure };
  }

  private open(variable: PortVariable, port: number, options: SMTPServerOptions): Promise<number> {
    const { host } = this.config.http;
    const server = new EnhancedSmtpServer(options);
    // A session starts after the greeting's delay, or the handshake, for which a client has a minute.
    server.shareConnections(2 * this.limits.maxSessions, (peer) => this.sessions.isLoggedIn(peer));
    const opening = new Promise<number>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => {
        server.off('error', reject);
        // A connection that breaks is the client's affair, but without a listener it would end the process.
        server.on('error', (error) => this.logger.debug(`A connection failed: ${error.message}`));
        this.servers.push(server);
        resolve((server.server.address() as AddressInfo).port);
      });
    });
    return opensPort(variable, { host, port }, opening);
  }

  private async end(): Promise<void> {
    clearInterval(this.sweeper);
    this.unwatch();
    await this.listening?.catch(() => undefined);
    const closed = this.servers.map((server) => new Promise<void>((resolve) => server.close(resolve)));
    for (const [id, { dataSinceMs }] of this.sessions.all) if (dataSinceMs === undefined) this.cut(id, stopping());
    await Promise.all(closed);
  }

  private optionsWith(certificate: Certificate | undefined, secure: boolean): SMTPServerOptions {
    const { limits } = this;
    return {
      ...certificate,
      ...{ secure, logger: false, disableReverseLookup: true },
      name: this.config.delivery.mailHost,
      banner: 'Waybill submission',
      authMethods: ['PLAIN', 'LOGIN'],
      // Decided for each session: see `protect`.
      allowInsecureAuth: true,
      authRequiredMessage: loginNeeded().message,
      disabledCommands: NEVER,
      ...{ size: limits.maxMessageBytes, maxRecipients: limits.maxRecipients, maxCommandLength: MAX_COMMAND_BYTES },
      ...{ socketTimeout: limits.idleMs, closeTimeout: this.config.delivery.drainSeconds * SECOND },
      onConnect: (session, reply) => reply(this.connect(session, secure, certificate !== undefined)),
      onSecure: (_socket, session, reply) => reply(this.secure(session)),
      onAuth: (auth, session, reply) => void this.logIn(auth, session, reply),
      onMailFrom: (_address, session, reply) => this.respond(session, reply, (own) => this.begin(own)),
      onRcptTo: (address, session, reply) =>
        this.respond(session, reply, () => Promise.resolve(this.services.reception.admit(address))),
      onData: (stream, session, reply) => void this.receive(stream, session, reply),
      onClose: (session) => this.sessions.close(session.id),
    };
  }

  private connect(session: SMTPServerSession, secure: boolean, offersTls: boolean): Error | null {
    this.metrics.countConnection();
    const client = clientNetworkOf(session.remoteAddress);
    if (!this.makeRoom(client)) return this.counted(tooManySessions());
    const isPrivate = secure || (this.config.delivery.mode === 'local' && isLoopback(session.remoteAddress));
    const openedMs = this.clock.monotonicMs();
    const peer = peerOf(session);
    this.sessions.open(session.id, { client, peer, openedMs, isPrivate, login: undefined, dataSinceMs: undefined });
    // No AUTH is offered, nor taken, to where others could listen.
    session.disabledCommands = [...NEVER, ...(isPrivate ? [] : ['AUTH']), ...(offersTls ? [] : ['STARTTLS'])];
    return null;
  }

  /** When the listener is full, or the client has its share, a session without a login gives way. */
  private makeRoom(client: string): boolean {
    const { sessions, limits } = this;
    const hasShare = sessions.ofClient(client) < limits.maxSessionsOfClient;
    if (hasShare && sessions.size < limits.maxSessions) return true;
    const contestedMs = this.clock.monotonicMs() - limits.contestedMs;
    const other = hasShare ? sessions.endFor(client) : sessions.endOneOf(client, contestedMs);
    if (other !== undefined) this.cut(other, this.counted(tooManySessions()));
    return other !== undefined;
  }

  private secure(session: SMTPServerSession): Error | null {
    const own = this.sessions.get(session.id);
    if (!own) return tooManySessions();
    this.sessions.logOut(session.id, own);
    own.isPrivate = true;
    session.disabledCommands = NEVER;
    return null;
  }

  private async logIn(
    { username, password }: SMTPServerAuthentication,
    session: SMTPServerSession,
    reply: Reply<SMTPServerAuthenticationResponse>,
  ): Promise<void> {
    const own = this.sessions.get(session.id);
    const key = password ?? '';
    try {
      if (!own?.isPrivate) throw tlsNeeded();
      const principal = await this.services.logins.logIn(own.client, username ?? '', key);
      const { organizationId, apiKeyId } = principal;
      if (!this.sessions.hasRoomFor(organizationId, this.limits)) throw tooManySessions();
      // The client may have closed meanwhile.
      if (this.sessions.get(session.id)) this.sessions.logIn(session.id, key, principal);
      reply(null, { user: apiKeyId });
    } catch (error) {
      reply(this.counted(error));
    }
  }

  private begin(own: SubmissionSession): Promise<void> {
    if (this.stopped) throw stopping();
    return this.services.reception.begin(own);
  }

  private respond(session: SMTPServerSession, reply: Reply, work: (own: SubmissionSession) => Promise<void>): void {
    const own = this.sessions.get(session.id);
    if (!own) return reply(stopping());
    Promise.resolve()
      .then(() => work(own))
      .then(
        () => reply(),
        (error: unknown) => reply(this.counted(error)),
      );
  }

  private async receive(stream: SMTPServerDataStream, session: SMTPServerSession, reply: Reply<string>): Promise<void> {
    const own = this.sessions.get(session.id);
    if (!own) return reply(stopping());
    own.dataSinceMs = this.clock.monotonicMs();
    const span = this.tracing.startMessage();
    try {
      const received = receivedField(this.config.delivery.mailHost, session, this.clock.now());
      const hasGone = (): boolean => this.sessions.get(session.id) === undefined;
      const submitter = { login: own.login, received, hasGone };
      const text = await this.services.reception.receive(stream, session, submitter, span?.context);
      this.metrics.countMessage();
      reply(null, text);
      span?.end({ code: 250 });
    } catch (error) {
      const refusal = this.counted(error);
      reply(refusal);
      span?.end({ code: refusal.responseCode, reason: refusal.reason });
    } finally {
      own.dataSinceMs = undefined;
      if (this.stopped) setImmediate(() => this.cut(session.id, stopping()));
    }
  }

  /** Ends sessions that are over, whatever their clients do. */
  private sweep(): void {
    const nowMs = this.clock.monotonicMs();
    for (const [id, { client, login, openedMs, dataSinceMs = Infinity }] of this.sessions.all) {
      if (!login && nowMs - openedMs > this.limits.unprovenMs) this.cutInTurn(id, client, loginTooLate);
      else if (nowMs - dataSinceMs > this.limits.dataMs) this.cutInTurn(id, client, dataTooSlow);
    }
    // While the database is slow the next sweeps wait for this one's look-ups, and still end late sessions.
    this.checking ??= this.cutRevoked().finally(() => (this.checking = undefined));
  }

  private async cutRevoked(): Promise<void> {
    const revoked = await this.services.logins.endedOf(this.sessions.keys);
    for (const [id, { client, login }] of this.sessions.all) {
      if (login && revoked.has(login.key)) this.cutInTurn(id, client, keyEnded);
    }
  }

  /** Hundreds may be over at the same moment. */
  private cutInTurn(id: string, client: string, refusal: () => Error): void {
    void CONNECTION_TURNS.next(client).then(() => this.cut(id, this.counted(refusal())));
  }

  private cut(id: string, { message }: Error): void {
    for (const server of this.servers) server.cut(id, message);
  }

  private counted(error: unknown): SubmissionRefusal {
    const refusal = replyTo(error);
    this.metrics.countRefusal(refusal.reason);
    return refusal;
  }
}
