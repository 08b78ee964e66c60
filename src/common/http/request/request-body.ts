import { SetMetadata } from '@nestjs/common';
import type { Request, Response } from 'express';
import { SECOND } from '../../clock';
import { AppError, ClientGoneError, TooManyAtATimeError, UnavailableError } from '../../errors/app-error';
import { MAX_ITEMS } from '../../json/parse-json';
import { BodyParts } from '../../mime/body-parts';
import { clientNetworkOf } from '../../network';
import { clientAddressOf } from './client-address';

const KIB = 1024;
export const MIB = 1024 * KIB;

export interface BodyOptions {
  /** Larger bodies are refused with 413. */
  readonly maxBytes: number;
  /** Commas and colons outside strings; more are refused with 400. */
  readonly maxItems: number;
  /** The body is read, within its limit, and dropped: routes that take any media type and need none of it. */
  readonly ignored: boolean;
  /** Elements of a top-level array are independent: an invalid one becomes its `ValidationError`. */
  readonly elementwise: boolean;
}

export const DEFAULT_BODY: BodyOptions = {
  maxBytes: 64 * KIB,
  maxItems: MAX_ITEMS,
  ignored: false,
  elementwise: false,
};

/** 25 MiB of decoded attachments as base64, plus the bodies. */
export const SEND_BODY: BodyOptions = { ...DEFAULT_BODY, maxBytes: 40 * MIB };

/** 100 emails, each of up to 50 recipients as objects. */
export const BATCH_BODY: BodyOptions = { ...DEFAULT_BODY, maxBytes: 64 * MIB, maxItems: 100_000, elementwise: true };

export const BODY_METADATA = 'waybill:body';

/** What a route's body may be, where it differs from the defaults (64 KiB, 20,000 items). */
export function TakesBody(options: Partial<BodyOptions>): MethodDecorator {
  return SetMetadata(BODY_METADATA, { ...DEFAULT_BODY, ...options });
}

/** Of large bodies, and of messages over SMTP, in one process. */
export const MAX_HELD_BYTES = 192 * MIB;

/** Larger bodies are read in turns. */
export const LARGE_BYTES = 256 * KIB;

/**
 * Smaller bodies and responses are not accounted for: the limit of connections bounds them, to 96 MiB for 3,000. With 256 KiB, one
 * organization that began as many uploads and stopped took 750 MB.
 */
export const UNCOUNTED_BYTES = 32 * KIB;

/**
 * How many bytes of bodies and responses this process holds at a time: many requests at once may not exhaust its memory. No
 * holder may have more than is left to the others: one alone gets half, each of n gets 1/(n+1), and a further one always gets a
 * share.
 */
export class BodyBudget {
  private held = 0;
  private readonly heldBy = new Map<string, number>();

  constructor(private readonly maxBytes: number) {}

  /**
   * @param holder an organization, or the address of a client without a key
   * @returns false when that would be too much; then nothing was taken.
   */
  take(holder: string, bytes: number): boolean {
    const own = (this.heldBy.get(holder) ?? 0) + bytes;
    if (own > this.maxBytes - this.held - bytes) return false;
    this.held += bytes;
    this.heldBy.set(holder, own);
    return true;
  }

  /** Why so much could not be taken: the holder has its share among those who hold something now, or others have more than theirs. */
  refusal(holder: string, bytes: number, what: string): AppError {
    const holders = this.heldBy.size + (this.heldBy.has(holder) ? 0 : 1);
    const own = (this.heldBy.get(holder) ?? 0) + bytes;
    const isOwn = own > this.maxBytes / (holders + 1);
    return isOwn ? new TooManyAtATimeError(what) : new UnavailableError(`Too many ${what} at a time`);
  }

  give(holder: string, bytes: number): void {
    if (bytes === 0) return;
    this.held -= bytes;
    const own = (this.heldBy.get(holder) ?? 0) - bytes;
    if (own > 0) this.heldBy.set(holder, own);
    else this.heldBy.delete(holder);
  }
}

/** A client that reads a large response more slowly on average, after half a minute, is disconnected. */
const READ = { graceMs: 30 * SECOND, bytesPerMs: 32 };

/**
 * What a response takes of the memory for bodies until its client has read it or closed: a client may read slowly, and request many at
 * once. It is reserved before the content is read, and grows while that becomes the response.
 */
export class ResponseMemory {
  private held = 0;
  private source = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly budget: BodyBudget,
    private readonly holder: string,
    private readonly response: Response,
  ) {}

  /**
   * @param bytes that it takes now
   * @param length of the response, where it is made piece by piece and so takes less memory than that
   * @throws ClientGoneError, TooManyAtATimeError, UnavailableError
   */
  set(bytes: number, length = bytes): void {
    const { budget, holder, response } = this;
    if (response.destroyed) throw new ClientGoneError();
    const more = (bytes <= UNCOUNTED_BYTES ? 0 : bytes) - this.held;
    if (more > 0 && !budget.take(holder, more)) throw budget.refusal(holder, more, 'large messages');
    if (more < 0) budget.give(holder, -more);
    this.held += more;
    if (this.held > 0) this.limitReading(length);
  }

  /** Before the content is read, of which the response is made. @throws as `set` */
  readonly reading = (bytes: number): void => {
    this.source = bytes;
    this.set(bytes);
  };

  /** @param bytes of the response so far; the content is there as well. @throws as `set` */
  readonly writing = (bytes: number): void => this.set(this.source + bytes);

  private limitReading(length: number): void {
    const { budget, holder, response } = this;
    if (!this.timer) {
      response.once('close', () => {
        clearTimeout(this.timer);
        budget.give(holder, this.held);
      });
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => response.destroy(), READ.graceMs + length / READ.bytesPerMs).unref();
  }
}

/** The same for a response whose size is known. @throws TooManyAtATimeError, UnavailableError */
export function holdUntilRead(budget: BodyBudget, holder: string, bytes: number, to: Response, length = bytes): void {
  if (!to.destroyed) new ResponseMemory(budget, holder, to).set(bytes, length);
}

/** The holder of a request's body. Decided once: a closed connection has no address any more. */
export function holderOf(request: Request): string {
  request.bodyHolder ??= request.principal?.organizationId ?? clientNetworkOf(clientAddressOf(request));
  return request.bodyHolder;
}

/**
 * Takes more of the budget until the response is complete, for what a small body becomes.
 * @throws TooManyAtATimeError, UnavailableError
 */
export function holdMore(request: Request, bytes: number): void {
  if (request.res?.writableEnded === true) throw new ClientGoneError();
  if (!request.bodyBudget.take(holderOf(request), bytes)) throw refusal(request, bytes);
  request.heldBytes += bytes;
}

/** Returns a request's share of the budget. Processing continues after its client has closed, until its response is made. */
export function releaseBody(request: Request): void {
  request.bodyBudget.give(request.bodyHolder ?? '', request.heldBytes);
  request.heldBytes = 0;
}

/** Whether a request announces a body; that of GET and HEAD is not read. */
export function hasBody({ method, headers }: Request): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/**
 * Reads a request's body of at most `maxBytes`, and sends "100 Continue" to a client that waits for it. What it takes of
 * the process's budget is noted in `request.heldBytes`. Never settles when the client goes away meanwhile.
 * @throws AppError payload_too_large, or what the budget refuses with; the rest of the body is then discarded as it arrives
 */
export function readBody(request: Request, maxBytes: number): Buffer | Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  // A small body arrives together with the headers.
  if (request.complete && request.readableLength <= maxBytes) {
    if (!hold(request, request.readableLength)) throw refusal(request, request.readableLength);
    return readArrived(request);
  }
  if (request.awaitsContinue) request.res?.writeContinue();
  return collect(request, maxBytes);
}

/** `read` returns all that is there until Node 24, and one of its pieces from Node 26 on. */
function readArrived(request: Request): Buffer {
  const first = request.read() as Buffer | null;
  if (first === null || request.readableLength === 0) return first ?? Buffer.alloc(0);
  const pieces = [first];
  while (request.readableLength > 0) pieces.push(request.read() as Buffer);
  return Buffer.concat(pieces);
}

function collect(request: Request, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts = new BodyParts();
    const finish = (refusal?: AppError): void => {
      request.off('data', onData).off('end', onEnd);
      if (refusal) reject(refusal);
      else resolve(parts.join(holderOf(request)));
    };
    const onEnd = (): void => finish();
    const onData = (chunk: Buffer): void => {
      const received = parts.bytes + chunk.length;
      if (received > maxBytes) finish(tooLarge(maxBytes));
      else if (!hold(request, received)) finish(refusal(request, received - request.heldBytes));
      else parts.add(chunk);
    };
    request.on('data', onData).on('end', onEnd);
  });
}

function hold(request: Request, received: number): boolean {
  if (received <= UNCOUNTED_BYTES) return true;
  if (!request.bodyBudget.take(holderOf(request), received - request.heldBytes)) return false;
  request.heldBytes = received;
  return true;
}

function refusal(request: Request, bytes: number): AppError {
  return request.bodyBudget.refusal(holderOf(request), bytes, 'large requests');
}

function tooLarge(maxBytes: number): AppError {
  return new AppError('payload_too_large', `The body exceeds ${maxBytes} bytes`, { details: { maxBytes } });
}
