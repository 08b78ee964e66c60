import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { EVENT_LOOP, FairStarts } from '../async/fair-turns';
import { parseInTurns } from '../async/parse-in-turns';
import { socketInTurns } from '../async/socket-turns';

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
  private static readonly of = new WeakMap<Socket, PipelinedRequests>();
  private readonly waiting: Waiting[] = [];
  private isServing = false;
  private wake: () => void = () => undefined;
  private served: Promise<void> | undefined;

  private constructor(
    private readonly socket: Socket,
    private readonly holder: string,
  ) {}

  /**
   * To be called by a listener of `connection`.
   * @param holder whom to count as one: a client's network
   */
  static on(socket: Socket, holder: string): void {
    const requests = new PipelinedRequests(socket, holder);
    PipelinedRequests.of.set(socket, requests);
    socketInTurns(socket, holder);
    parseInTurns(socket, () => holder, { whenServed: () => requests.whenServed() });
  }

  /** Calls `serve` once the earlier requests have their responses; never when the connection is closed by then. */
  static serve({ socket }: IncomingMessage, response: ServerResponse, serve: () => void): void {
    const requests = PipelinedRequests.of.get(socket);
    if (requests) requests.add({ response, serve });
    else serve();
  }

  private add(next: Waiting): void {
    if (this.isServing) this.waiting.push(next);
    else this.begin(next);
  }

  private begin({ response, serve }: Waiting): void {
    this.isServing = true;
    response.once('close', () => void this.goOn());
    const turn = STARTS.next(this.holder);
    if (turn) void turn.then(() => this.socket.destroyed || serve());
    else serve();
  }

  private async goOn(): Promise<void> {
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
