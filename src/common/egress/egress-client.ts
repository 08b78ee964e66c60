import { request as requestPlain, type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { EVENT_LOOP } from '../async/fair-turns';
import { parseInTurns } from '../async/parse-in-turns';
import { SECOND } from '../clock';
import { CLIENT_HANDSHAKES, CLIENT_TLS } from '../tls/client-handshakes';
import { connectMeasured, type MeasuredConnection } from '../tls/measured-socket';
import { fixedLookup, type EgressGuard, isAmong } from './egress-guard';
import { collectBody, drainBody, joinHeaders } from './egress-body';
import { EgressError, toEgressFailure, type EgressFailure } from './egress-failure';

export interface EgressGet {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Ends the request early. */
  readonly signal?: AbortSignal;
  /** In whose turns the answer is read; the host's without one. */
  readonly holder?: string;
}

export interface EgressPost extends EgressGet {
  readonly body: string | Buffer;
}

type Outgoing = EgressGet & { readonly body?: string | Buffer };

/** What came back beside the status; the body is its beginning. */
export interface EgressResponse {
  /** By lower-case name; of several of one name all, with commas between them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Whether there was more, or more had been announced. */
  readonly isCut: boolean;
}

/** What came back: the status decides, whatever the body is. */
export type EgressResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly retryAfter: string | undefined;
      readonly answer: EgressResponse;
    }
  | { readonly kind: 'failed'; readonly failure: EgressFailure };

/** A file as it came; no body when that is longer than the limit. */
export type EgressFile =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly contentType: string | undefined;
      readonly body: Buffer | undefined;
    }
  | { readonly kind: 'failed'; readonly failure: EgressFailure };

export interface EgressLimits {
  /** Until the connection stands, TLS included. */
  readonly connectTimeoutMs: number;
  /** From the look-up of the host to the end of the answer. */
  readonly totalTimeoutMs: number;
  /** Of the answer's body; the rest is not read. */
  readonly maxResponseBytes: number;
  /** Of the answer's body that is handed on. */
  readonly keptResponseBytes: number;
  /** Certificate authorities in PEM instead of the platform's: for tests. */
  readonly authorities?: string;
}

export const EGRESS_LIMITS: EgressLimits = {
  connectTimeoutMs: 5 * SECOND,
  totalTimeoutMs: 15 * SECOND,
  maxResponseBytes: 64 * 1024,
  keptResponseBytes: 4 * 1024,
};

/** Before the answer itself (RFC 9110 section 15.2): each costs this process more than who sends it. */
const MAX_INTERIM_ANSWERS = 10;
/** Of all that comes beside the body: heads, what frames the chunks of a body, empty lines before the answer. */
const FRAMING = { perBodyByte: 8, bytes: 256 * 1024 };

/** An address that does not answer leaves time for the next one. */
const NEXT_ADDRESS = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1_500 };

/**
 * The only way out over HTTP to where a customer points. The host is looked up and checked once and the connection goes to
 * what was checked; each request has a connection of its own. No redirects, proxies, credentials, cookies or compression.
 */
export class EgressClient {
  private context: SecureContext | undefined;

  constructor(
    private readonly guard: EgressGuard,
    private readonly limits: EgressLimits = EGRESS_LIMITS,
  ) {}

  /** Never throws for what a host may do. */
  post(post: EgressPost): Promise<EgressResult> {
    return this.send(post, async (response) => {
      const { statusCode: status = 0, headers } = response;
      const answer = { ...(await drainBody(response, this.limits)), headers: joinHeaders(headers) };
      return { kind: 'answered', status, retryAfter: headers['retry-after'], answer };
    });
  }

  /** The same, for what is to be read. */
  get(get: EgressGet): Promise<EgressFile> {
    return this.send(get, async (response) => {
      const { statusCode: status = 0, headers } = response;
      return {
        kind: 'answered',
        status,
        contentType: headers['content-type'],
        body: await collectBody(response, this.limits.maxResponseBytes),
      };
    });
  }

  private async send<Answer>(
    outgoing: Outgoing,
    read: (response: IncomingMessage) => Promise<Answer>,
  ): Promise<Answer | Extract<EgressResult, { kind: 'failed' }>> {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(new EgressError('timeout')), this.limits.totalTimeoutMs);
    const stop = () => deadline.abort(new EgressError('stopped'));
    outgoing.signal?.addEventListener('abort', stop);
    if (outgoing.signal?.aborted === true) stop();
    try {
      const check = await this.guard.check(outgoing.url, { signal: deadline.signal, holder: holderOf(outgoing) });
      // A handshake costs two milliseconds, and the replies to a hundred look-ups may come together.
      await EVENT_LOOP.next(holderOf(outgoing));
      deadline.signal.throwIfAborted();
      if (check.kind !== 'allowed') {
        return failed({ kind: check.kind === 'refused' ? 'refused' : 'dns', reason: check.reason });
      }
      return await this.exchange(outgoing, check.addresses, deadline.signal, read);
    } catch (error) {
      return failed(toEgressFailure(deadline.signal.aborted ? deadline.signal.reason : error));
    } finally {
      clearTimeout(timer);
      outgoing.signal?.removeEventListener('abort', stop);
    }
  }

  private async exchange<Answer>(
    outgoing: Outgoing,
    addresses: readonly string[],
    signal: AbortSignal,
    read: (response: IncomingMessage) => Promise<Answer>,
  ): Promise<Answer> {
    const holder = holderOf(outgoing);
    const isSecure = outgoing.url.protocol === 'https:';
    let giveUp = (): void => undefined;
    const place = { holder, giveUp: () => giveUp(), signal };
    const handshake = isSecure ? await CLIENT_HANDSHAKES.begin(place) : undefined;
    let spentMs = 0;
    try {
      const { request, handshakeMs } = this.open(outgoing, addresses);
      giveUp = () => void request.destroy(new EgressError('stopped'));
      const end = () => request.destroy(signal.reason as Error);
      signal.addEventListener('abort', end);
      request.once('socket', (socket: Socket) => socket.once('secureConnect', () => handshake?.end(handshakeMs())));
      try {
        return await read(await this.responseTo(request, holder));
      } finally {
        signal.removeEventListener('abort', end);
        spentMs = handshakeMs();
        request.destroy();
      }
    } finally {
      handshake?.end(spentMs);
    }
  }

  /** With what its handshake has taken of the event loop so far. */
  private open(
    outgoing: Outgoing,
    addresses: readonly string[],
  ): { request: ClientRequest; handshakeMs: () => number } {
    const { url, headers, body } = outgoing;
    const isSecure = url.protocol === 'https:';
    // A name goes through `lookup`; an address is what was checked.
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port);
    let plain: Socket | undefined;
    let measured: MeasuredConnection | undefined;
    const connect = (): Socket => {
      plain = connectTcp({ host, port, lookup: fixedLookup(addresses), ...NEXT_ADDRESS });
      if (isSecure) measured = this.secured(plain, host, holderOf(outgoing));
      return measured?.encrypted ?? plain;
    };
    const options: RequestOptions = {
      ...{ method: body === undefined ? 'GET' : 'POST', host, port, path: url.pathname + url.search },
      headers: {
        ...headers,
        'accept-encoding': 'identity',
        ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
      },
      createConnection: connect,
      maxHeaderSize: 16_384,
    };
    const request = requestPlain(options);
    plain?.once('connect', () => {
      if (!isAmong(plain?.remoteAddress, addresses)) request.destroy(new EgressError('refused'));
    });
    const handshakeMs = () => measured?.handshakeMs() ?? 0;
    return { request: request.end(body), handshakeMs };
  }

  private secured(plain: Socket, host: string, holder: string): MeasuredConnection {
    const servername = isIP(host) === 0 ? host : '';
    const trust = { secureContext: this.secureContext, rejectUnauthorized: true };
    const options = { host, servername, ...trust, ALPNProtocols: ['http/1.1'] };
    return connectMeasured(plain, holder, options);
  }

  /** Made once: the authorities of the platform take two milliseconds. */
  private get secureContext(): SecureContext {
    const { authorities } = this.limits;
    const options = { ...CLIENT_TLS, ...(authorities !== undefined && { ca: authorities }) };
    return (this.context ??= createSecureContext(options));
  }

  private responseTo(request: ClientRequest, holder: string): Promise<IncomingMessage> {
    const timer = setTimeout(() => request.destroy(new EgressError('connect_timeout')), this.limits.connectTimeoutMs);
    return new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve);
      request.on('error', reject);
      // Node ends a request without a word when the host changes to another protocol (101), and it cannot be ended again.
      request.once('close', () => reject(new EgressError('protocol')));
      request.once('socket', (socket: Socket) => {
        parseInTurns(socket, () => holder);
        this.bound(request, socket);
        socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => clearTimeout(timer));
      });
    }).finally(() => clearTimeout(timer));
  }

  /** Ends a request to a host that floods: within the time limit it could keep the whole process busy. */
  private bound(request: ClientRequest, socket: Socket): void {
    const end = () => request.destroy(new EgressError('protocol'));
    const most = this.limits.maxResponseBytes * FRAMING.perBodyByte + FRAMING.bytes;
    let answers = 0;
    request.on('information', () => {
      answers += 1;
      if (answers > MAX_INTERIM_ANSWERS) end();
    });
    socket.on('data', () => {
      if (socket.bytesRead > most) end();
    });
  }
}

function holderOf({ holder, url }: Outgoing): string {
  return holder ?? url.host;
}

function failed(failure: EgressFailure): Extract<EgressResult, { kind: 'failed' }> {
  return { kind: 'failed', failure };
}
