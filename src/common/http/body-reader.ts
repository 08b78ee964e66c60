import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { AppError, UnavailableError } from '../errors/app-error';

/** Smaller bodies are not accounted for: the connection limit bounds them. */
const FREE_BYTES = 256 * 1024;

/** How many bytes of large bodies this process holds at a time: many large requests at once may not exhaust its memory. */
export class BodyBudget {
  private held = 0;

  constructor(private readonly maxBytes: number) {}

  /** @returns false when there is no room; then nothing was taken. */
  take(bytes: number): boolean {
    if (this.held + bytes > this.maxBytes) return false;
    this.held += bytes;
    return true;
  }

  give(bytes: number): void {
    this.held -= bytes;
  }
}

/** Responses to `Expect: 100-continue`, by request. */
const awaitingContinue = new WeakMap<IncomingMessage, ServerResponse>();

/** For `checkContinue`: "100 Continue" is sent when the body is really wanted, after all that can refuse it unseen. */
export function postponeContinue(request: IncomingMessage, response: ServerResponse): void {
  awaitingContinue.set(request, response);
}

export type BodyRead = (refusal: AppError | undefined, bytes: Buffer | undefined) => void;

/**
 * Collects a request's body of at most `maxBytes`. Calls back once, or never when the client goes away meanwhile. After a
 * refusal the rest is discarded as it arrives. What it takes of the budget is noted in `request.heldBytes`.
 */
export function readBody(request: FastifyRequest, maxBytes: number, budget: BodyBudget, done: BodyRead): void {
  const { raw } = request;
  if (Number(raw.headers['content-length'] ?? 0) > maxBytes) {
    done(tooLarge(maxBytes), undefined);
    return;
  }
  if (raw.headers.expect !== undefined) awaitingContinue.get(raw)?.writeContinue();
  const chunks: Buffer[] = [];
  let received = 0;
  const finish = (refusal?: AppError): void => {
    raw.off('data', onData).off('end', onEnd);
    if (refusal) done(refusal, undefined);
    else done(undefined, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, received));
  };
  const onEnd = (): void => finish();
  const onData = (chunk: Buffer): void => {
    received += chunk.length;
    if (received > maxBytes) finish(tooLarge(maxBytes));
    else if (!hold(request, received, budget)) finish(new UnavailableError('Too many large requests at a time'));
    else chunks.push(chunk);
  };
  raw.on('data', onData).on('end', onEnd);
}

function hold(request: FastifyRequest, received: number, budget: BodyBudget): boolean {
  if (received <= FREE_BYTES) return true;
  if (!budget.take(received - request.heldBytes)) return false;
  request.heldBytes = received;
  return true;
}

function tooLarge(maxBytes: number): AppError {
  return new AppError('payload_too_large', `The body exceeds ${maxBytes} bytes`, { details: { maxBytes } });
}
