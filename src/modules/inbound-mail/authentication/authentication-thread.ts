import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { AuthenticateResult } from 'mailauth';
import { cpuClock } from '../../../common/async/cpu-clock';
import { MINUTE } from '../../../common/clock';
import { PROGRAM, PROGRESS, toHandOver } from './authentication-program';

/** A message, and what the library has to know of its client. */
export interface Examination {
  readonly client: { readonly ip: string; readonly helo: string; readonly sender: string; readonly mta: string };
  /** The message, piece by piece. */
  readonly pieces: AsyncIterator<Buffer>;
  /** In the form of `dns.promises.resolve`. */
  readonly resolve: (name: string, type: string) => Promise<string[][] | string[]>;
  readonly signal: AbortSignal;
}

/** Of the library's results what is used. */
export type Found = Pick<AuthenticateResult, 'spf' | 'dkim' | 'dmarc' | 'arc'>;

/** The message took more of the thread than any may: it is not examined. */
export class TooCostlyError extends Error {}

/** The thread has ended because of another message. */
export class ThreadEndedError extends Error {}

/** CPU time of one message in the thread; an honest one of 25 MiB takes 250 for each way in which it is signed. */
const MOST_MS = 3_000;
/** CPU time of one step, between two look-ups or pieces: the library cannot be interrupted in it. */
const STUCK_MS = 500;
const WATCH_MS = 100;
const OVER = 'The time for it is over';
/** The library takes some 30 MB: where mail is rare, it is there only while there is some. */
const IDLE_MS = 5 * MINUTE;
const MEMORY = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 };

type Outcome = { readonly result: Found } | { readonly error: string } | { readonly isTooCostly: true };
/** For the next piece, or for what a name has. */
type Question = { readonly id: number; readonly number: number; readonly name?: string; readonly type?: string };
type FromThread =
  | { readonly thread: string }
  | Question
  | ({ readonly id: number; readonly spentMs: number } & Outcome);

/** What came of a message, and what it took of the thread. */
export interface Examined {
  readonly found: Found;
  readonly spentMs: number;
}

interface Job {
  readonly examination: Examination;
  readonly resolve: (examined: Examined) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The library that authenticates mail, in a thread of its own: what it does at once grows with the square of texts that senders and the owners
 * of zones write. A `From` of 48 KB took five seconds of the event loop, an SPF record whose macros name the client's HELO two minutes.
 *
 * The first message starts the thread, for which it waits a third of a second; one that takes too long ends it.
 */
export class AuthenticationThread {
  private worker: Worker | undefined;
  private readonly jobs = new Map<number, Job>();
  private progress: Int32Array = new Int32Array();
  private watch: NodeJS.Timeout | undefined;
  private idle: NodeJS.Timeout | undefined;
  private cpuMs = (): number => 0;
  private lastId = 0;

  /** @param niceness where it wants a processor that the event loop wants too: at 10 it gets a tenth (Linux) */
  constructor(private readonly niceness = 0) {}

  /** @throws TooCostlyError, ThreadEndedError, or another error where nothing is found */
  examine(examination: Examination): Promise<Examined> {
    // Without a thread, which nothing would end; and the signal would fire no event.
    if (examination.signal.aborted) return Promise.reject(new Error(OVER));
    clearTimeout(this.idle);
    const worker = (this.worker ??= this.begin());
    this.lastId += 1;
    const id = this.lastId;
    let leave = (): void => undefined;
    return new Promise<Examined>((resolve, reject) => {
      leave = () => {
        // It is in one step of this message, and would stay in it.
        if (this.isInStepOf(id)) return void worker.terminate();
        this.leave(id);
        worker.postMessage({ id, isOver: true });
        reject(new Error(OVER));
      };
      examination.signal.addEventListener('abort', leave, { once: true });
      this.jobs.set(id, { examination, resolve, reject });
      worker.ref();
      this.watch ??= this.watching();
      worker.postMessage({ id, client: examination.client });
    }).finally(() => examination.signal.removeEventListener('abort', leave));
  }

  private begin(): Worker {
    this.progress = new Int32Array(new SharedArrayBuffer(Object.keys(PROGRESS).length * Int32Array.BYTES_PER_ELEMENT));
    const workerData = {
      library: require.resolve('mailauth'),
      verifier: require.resolve('mailauth/lib/dkim/dkim-verifier'),
      progress: this.progress,
      mostMs: MOST_MS,
      niceness: this.niceness,
    };
    const worker = new Worker(PROGRAM, { eval: true, workerData, resourceLimits: MEMORY });
    worker.once('message', ({ thread }: { thread: string }) => {
      this.cpuMs = cpuClock((path) => readFileSync(path, 'latin1'), `/proc/self/task/${thread}/schedstat`);
    });
    worker.on('message', (message: FromThread) => this.receive(worker, message));
    // `exit` follows.
    worker.on('error', () => undefined);
    worker.once('exit', () => this.lose(worker));
    return worker;
  }

  private receive(worker: Worker, message: FromThread): void {
    if ('thread' in message) return;
    const job = this.jobs.get(message.id);
    if (!job) return;
    if ('number' in message) return void this.respond(worker, job, message);
    this.leave(message.id);
    if ('result' in message) job.resolve({ found: message.result, spentMs: message.spentMs });
    else job.reject('error' in message ? new Error(message.error) : new TooCostlyError());
  }

  private async respond(worker: Worker, { examination }: Job, question: Question): Promise<void> {
    const { id, number, name, type } = question;
    const { pieces, resolve } = examination;
    try {
      const value = name === undefined ? toHandOver(await pieces.next()) : await resolve(name, type ?? '');
      worker.postMessage({ id, number, value }, value instanceof Uint8Array ? [value.buffer] : []);
    } catch (error) {
      worker.postMessage({ id, number, code: (error as NodeJS.ErrnoException).code ?? 'unknown' });
    }
  }

  private leave(id: number): void {
    this.jobs.delete(id);
    if (this.jobs.size > 0) return;
    clearInterval(this.watch);
    this.watch = undefined;
    this.worker?.unref();
    this.idle = setTimeout(() => this.end(), IDLE_MS).unref();
  }

  private end(): void {
    void this.worker?.terminate();
    this.worker = undefined;
  }

  private isInStepOf(id: number): boolean {
    const { [PROGRESS.owner]: owner, [PROGRESS.isBusy]: isBusy } = this.progress;
    return owner === id && isBusy === 1;
  }

  /** Ends a thread that is in one step for too long. */
  private watching(): NodeJS.Timeout {
    let seen = { step: 0, cpuMs: 0 };
    return setInterval(() => {
      const { [PROGRESS.steps]: step = 0, [PROGRESS.isBusy]: isBusy } = this.progress;
      const cpuMs = this.cpuMs();
      if (step !== seen.step || isBusy === 0) seen = { step, cpuMs };
      else if (cpuMs - seen.cpuMs > STUCK_MS) void this.worker?.terminate();
    }, WATCH_MS).unref();
  }

  private lose(worker: Worker): void {
    if (this.worker !== worker) return;
    this.worker = undefined;
    const lost = [...this.jobs];
    for (const [id, { reject }] of lost) {
      this.leave(id);
      reject(id === this.progress[PROGRESS.owner] ? new TooCostlyError() : new ThreadEndedError());
    }
  }
}
