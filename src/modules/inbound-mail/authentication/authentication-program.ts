import { cpuClock } from '../../../common/async/cpu-clock';
import { readFieldsExactly } from './exact-white-space';

/** Shared with the thread: whose step it is in, how many it has begun, and whether it is in one. */
export const PROGRESS = { owner: 0, steps: 1, isBusy: 2 } as const;

/**
 * The next piece of a message, to be handed over. A view takes all the memory that it is of along: a message of 10 MB went to the thread once
 * with each of its pieces, which held the event loop for 60 to 90 ms every time.
 */
export function toHandOver(next: IteratorResult<Buffer, unknown>): Uint8Array<ArrayBuffer> | undefined {
  return next.done ? undefined : new Uint8Array(next.value);
}

/**
 * The program of the thread, as text, since a thread loads no TypeScript, which tests run. Each message's look-ups and pieces are asked for by number:
 *
 *   {client} ──► {number, name, type} ◄──► {number, value or code} ──► {spentMs, result or error}
 */
export const PROGRAM = `
  const { readFileSync, readlinkSync } = require('node:fs');
  const { setPriority } = require('node:os');
  const { Readable } = require('node:stream');
  const { parentPort, workerData } = require('node:worker_threads');
  const { library, verifier, progress, mostMs, niceness } = workerData;
  let thread = '';
  try {
    thread = readlinkSync('/proc/thread-self').split('/').pop();
    if (niceness > 0) setPriority(Number(thread), niceness);
  } catch {}
  const cpuMs = (${cpuClock.toString()})((path) => readFileSync(path, 'latin1'), '/proc/self/task/' + thread + '/schedstat');
  const { authenticate } = require(library);
  (${readFieldsExactly.toString()})(require(verifier).DkimVerifier.prototype);
  const jobs = new Map();
  let current;
  let beganMs = 0;
  const leave = () => {
    if (current) current.spentMs += cpuMs() - beganMs;
    current = undefined;
    progress[${PROGRESS.isBusy}] = 0;
  };
  const enter = (job) => {
    leave();
    current = job;
    beganMs = cpuMs();
    progress[${PROGRESS.owner}] = job.id;
    progress[${PROGRESS.steps}] += 1;
    progress[${PROGRESS.isBusy}] = 1;
    setImmediate(leave);
  };
  const ask = (job, question) =>
    new Promise((resolve, reject) => {
      job.last += 1;
      job.asked.set(job.last, { resolve, reject });
      parentPort.postMessage({ id: job.id, number: job.last, ...question });
    });
  async function* piecesOf(job) {
    for (let next = ask(job, {}); ;) {
      const piece = await next;
      if (!piece) return;
      next = ask(job, {});
      yield Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    }
  }
  const cut = (text) => (typeof text === 'string' ? text.slice(0, 300) : undefined);
  const statusOf = ({ result, comment, underSized }) => ({ result, comment: cut(comment), underSized });
  const short = ({ spf, dkim, dmarc, arc }) => ({
    spf: spf && { status: statusOf(spf.status), domain: cut(spf.domain) },
    dkim: {
      results: dkim.results.map(({ status, signingDomain, selector }) => ({
        ...{ status: statusOf(status), signingDomain: cut(signingDomain), selector: cut(selector) },
      })),
    },
    dmarc: dmarc && {
      ...{ status: statusOf(dmarc.status), domain: cut(dmarc.domain), policy: cut(dmarc.policy) },
      alignment: dmarc.alignment && {
        spf: { result: cut(dmarc.alignment.spf.result) },
        dkim: { underSized: dmarc.alignment.dkim.underSized },
      },
    },
    arc: arc && { i: arc.i, status: statusOf(arc.status) },
  });
  const end = (job, outcome) => {
    leave();
    if (jobs.delete(job.id)) parentPort.postMessage({ id: job.id, spentMs: job.spentMs, ...outcome });
  };
  const begin = (id, client) => {
    const job = { id, spentMs: 0, last: 0, asked: new Map() };
    jobs.set(id, job);
    enter(job);
    const resolver = (name, type) => ask(job, { name, type });
    authenticate(Readable.from(piecesOf(job), { objectMode: false }), { ...client, disableBimi: true, resolver }).then(
      (result) => end(job, { result: short(result) }),
      (error) => end(job, { error: String(error.code ?? error.message) }),
    );
  };
  parentPort.on('message', ({ id, client, number, value, code, isOver }) => {
    if (client) return begin(id, client);
    const job = jobs.get(id);
    if (!job) return;
    if (isOver) return void jobs.delete(id);
    if (job.spentMs > mostMs) return end(job, { isTooCostly: true });
    enter(job);
    const { resolve, reject } = job.asked.get(number);
    job.asked.delete(number);
    if (code === undefined) resolve(value);
    else reject(Object.assign(new Error(code), { code }));
  });
  parentPort.postMessage({ thread });
`;
