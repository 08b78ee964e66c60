import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { EgressError } from './egress-failure';

/** The most chunks of a body whose end does not matter: receiving a chunk costs more than sending it. */
const MAX_DRAINED_PIECES = 1_000;

/** The whole body; undefined when it is longer than the limit. Rejects when it breaks off. */
export function collectBody(response: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) return void chunks.push(chunk);
      response.destroy();
      resolve(undefined);
    });
    response.on('error', reject);
    response.once('end', () => resolve(Buffer.concat(chunks)));
    response.once('close', () => reject(new EgressError('connection')));
  });
}

/** Reads to the end or to the limit, and keeps the beginning. An end that is late or broken changes nothing: the status is known. */
export function drainBody(
  response: IncomingMessage,
  limits: { readonly maxResponseBytes: number; readonly keptResponseBytes: number },
): Promise<{ readonly body: Buffer; readonly isCut: boolean }> {
  const { maxResponseBytes, keptResponseBytes } = limits;
  const kept: Buffer[] = [];
  let [bytes, pieces] = [0, 0];
  return new Promise((resolve) => {
    response.on('data', (chunk: Buffer) => {
      pieces += 1;
      // A copy, since a slice keeps the whole buffer of the chunk in memory.
      if (bytes < keptResponseBytes) kept.push(Buffer.from(chunk.subarray(0, keptResponseBytes - bytes)));
      bytes += chunk.length;
      if (bytes >= maxResponseBytes || pieces >= MAX_DRAINED_PIECES) response.destroy();
    });
    response.on('error', () => undefined);
    response.once('close', () => {
      const isCut = bytes > keptResponseBytes || !response.complete;
      resolve({ body: Buffer.concat(kept), isCut });
    });
  });
}

/** Values by lower-case name; several of one name are joined by commas. */
export function joinHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const joined = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  return Object.fromEntries(joined) as Record<string, string>;
}
