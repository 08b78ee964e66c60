import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { EVENT_LOOP, FairStarts } from '../../async/fair-turns';
import { parseInTurns } from '../../async/parse-in-turns';
import { CONNECTION_TURNS } from '../../async/shared-turns';
import { socketInTurns } from '../../async/socket-turns';

/** Of all connections of this process. */
const STARTS = new FairStarts();

interface Waiting {
  readonly response: ServerResponse;
  readonly serve: () => void;
}

/**
 * The requests of one connection, which are served one after the other. Responses go out in the order of the requests anyway (RFC 9112
 * section 9.3.2), so a client that pipelines loses little; a hundred requests of one packet would otherwise be under way together, and all
 * of them might end in the same turn of the event loop. Nothing more is parsed while one waits. Of many connections few requests begin in
 * one turn of the event loop, clients in rotation.
 */
export class PipelinedRequests {
  private static readonly known = new WeakMap<Socket, PipelinedRequests>();
  private readonly waiting: Waiting[] = [];
  private isServing = false;
  private wake: () => void = () => undefined;
  private served: Promise<void> | undefined;

  private constructor(
    private readonly socket: Socket,
    private readonly holder: string,
  ) {}

  /**
   * Of all connections of a server; those on which no request comes for its `keepAliveTimeout` are ended in turns.
   * @param holderOf whom to count as one: a client's network
   */
  static of(server: Server, holderOf: (socket: Socket) => string): void {
    const idle = new IdleConnections();
    server.on('connection', (socket: Socket) => {
      PipelinedRequests.on(socket, holderOf(socket));
      idle.watch(socket);
    });
  }

  private static on(socket: Socket, holder: string): void {
    const requests = new PipelinedRequests(socket, holder);
    PipelinedRequests.known.set(socket, requests);
    socketInTurns(socket, holder);
    parseInTurns(socket, () => holder, { whenServed: () => requests.whenServed() });
  }

  /** Whether a request of this connection is under way, until its response has been read. */
  static isServing(this: void, socket: Socket): boolean {
    return PipelinedRequests.known.get(socket)?.isServing === true;
  }

  /** Calls `serve` once the earlier requests have their responses; never when the connection is closed by then. */
  static serve({ socket }: IncomingMessage, response: ServerResponse, serve: () => void): void {
    const requests = PipelinedRequests.known.get(socket);
    if (requests) requests.add({ response, serve });
    else serve();
  }

  private add(next: Waiting): void {
    // After a response that was the last: it could be carried out, but not responded to.
    if (this.socket.writableEnded) return;
    if (this.isServing) this.waiting.push(next);
    else this.begin(next);
  }

  private begin({ response, serve }: Waiting): void {
    this.isServing = true;
    response.once('close', () => void this.resume());
    const turn = STARTS.next(this.holder);
    if (turn) void turn.then(() => this.socket.destroyed || serve());
    else serve();
  }

  private async resume(): Promise<void> {
    if (this.waiting.length > 0) await EVENT_LOOP.next(this.holder);
    if (this.socket.destroyed || this.socket.writableEnded) this.waiting.length = 0;
    const next = this.waiting.shift();
    if (this.waiting.length === 0) this.wake();
    this.isServing = false;
    if (next) this.begin(next);
  }

  /** Undefined when no request waits. */
  private whenServed(): Promise<void> | undefined {
    if (this.waiting.length === 0) return undefined;
    this.served ??= new Promise((resolve) => {
      this.wake = () => {
        this.served = undefined;
        resolve();
      };
    });
    return this.served;
  }
}

/** Whom ends of idle connections count as in the turns. */
const IDLE = 'idle';

/**
 * Ends the connections of a server that wait for a request for too long, in turns of the event loop, with one timer for all of them. Node has
 * one for each, and all that are due run in one turn: after a pause of the process those of 4,000 connections took 40 ms. Who has
 * sent something by then is served.
 */
class IdleConnections {
  /** In the order of their ends, as the time is the same for all. */
  private readonly waiting = new Map<Socket, { limitMs: number; endMs: number; bytesRead: number }>();
  private timer: NodeJS.Timeout | undefined;

  /** Node sets the timeout of a socket after a response, and lifts it with the next request. */
  watch(socket: Socket): void {
    socket.setTimeout = (ms) => {
      this.waiting.delete(socket);
      if (ms > 0 && !socket.destroyed) this.add(socket, ms);
      return socket;
    };
    socket.once('close', () => this.waiting.delete(socket));
  }

  private add(socket: Socket, limitMs: number): void {
    this.waiting.set(socket, { limitMs, endMs: performance.now() + limitMs, bytesRead: socket.bytesRead });
    this.wakeIn(limitMs);
  }

  private wakeIn(ms: number): void {
    this.timer ??= setTimeout(() => this.endInTurn(), ms).unref();
  }

  /** In a later turn: timers come before what clients have sent. */
  private endInTurn(): void {
    void CONNECTION_TURNS.next(IDLE).then(() => this.endDue());
  }

  private endDue(): void {
    this.timer = undefined;
    for (const [socket, { limitMs, endMs, bytesRead }] of this.waiting) {
      const leftMs = endMs - performance.now();
      if (leftMs > 0) return this.wakeIn(leftMs);
      this.waiting.delete(socket);
      if (socket.bytesRead === bytesRead) socket.destroy();
      else this.add(socket, limitMs);
      if (!CONNECTION_TURNS.isFree()) return this.endInTurn();
    }
  }
}
