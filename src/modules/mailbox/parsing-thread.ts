import { Worker } from 'node:worker_threads';
import type { Email, PostalMimeOptions } from 'postal-mime';
import { SECOND } from '../../common/clock';

/** What the pages show of a parsed message. */
export type ParsedEmail = Pick<Email, 'attachments' | 'html' | 'text'>;

/** As text, since it runs outside of whatever has loaded this file. */
const THREAD = `
  const { parentPort, workerData } = require('node:worker_threads');
  const library = require(workerData.library);
  const parser = library.default ?? library;
  parser.parse(workerData.raw, workerData.options).then(
    ({ text, html, attachments }) => parentPort.postMessage({ text, html, attachments }),
    () => parentPort.postMessage(undefined),
  );
`;

const TIMEOUT_MS = 10 * SECOND;
const MAX_MEMORY_MB = 512;

/**
 * Parses a message in a thread of its own, which is ended after ten seconds: 20 kB of nothing but parts take the parser 80 ms, and
 * four times as long for twice as much.
 * @returns undefined for a message that it refuses, or does not finish
 */
export function parseInThread(raw: Buffer, options: PostalMimeOptions): Promise<ParsedEmail | undefined> {
  const thread = new Worker(THREAD, {
    eval: true,
    workerData: { raw, options, library: require.resolve('postal-mime') },
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
  });
  const timer = setTimeout(() => void thread.terminate(), TIMEOUT_MS);
  return new Promise<ParsedEmail | undefined>((resolve) => {
    thread.once('message', (parsed: ParsedEmail | undefined) => resolve(parsed));
    // Out of memory, for one.
    thread.once('error', () => resolve(undefined));
    thread.once('exit', () => resolve(undefined));
  }).finally(() => {
    clearTimeout(timer);
    void thread.terminate();
  });
}
