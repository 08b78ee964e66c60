import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { cpuClock } from '../../../common/async/cpu-clock';
import { UnavailableError } from '../../../common/errors/app-error';
import { adaptLiquid } from './adapt-liquid';
import {
  type CheckResult,
  type RenderResult,
  type StoredTemplate,
  TemplateEngine,
  type TemplateParts,
} from './template-engine';

/** A request to a thread. */
export type Task =
  | { readonly kind: 'check'; readonly source: TemplateParts }
  | { readonly kind: 'render'; readonly template: StoredTemplate; readonly variables: string };

/** The thread's program, as text: a thread cannot load TypeScript, which the tests run. */
const PROGRAM = `
  const { readFileSync, readlinkSync } = require('node:fs');
  const { parentPort, workerData } = require('node:worker_threads');
  let thread = '';
  try {
    thread = readlinkSync('/proc/thread-self').split('/').pop();
  } catch {}
  const clock = (${cpuClock.toString()})((path) => readFileSync(path, 'latin1'), '/proc/self/task/' + thread + '/schedstat');
  const engine = new (${TemplateEngine.toString()})(require(workerData.library), clock, ${adaptLiquid.toString()});
  parentPort.on('message', (task) => {
    parentPort.postMessage(
      task.kind === 'check' ? engine.check(task.source) : engine.render(task.template, task.variables),
    );
  });
  parentPort.postMessage(thread);
`;

/** CPU time, as in the engine, whose own limit comes first but cannot interrupt a single long step. */
const DEADLINE_MS = 2 * TemplateEngine.RENDER_MS;
/** Elapsed time, in multiples of the deadline, on a machine that is too busy to run the thread. */
const MAX_DEADLINES = 10;
/** More than the engine's own limit lets a rendering take: a thread without memory can end the process. */
const MEMORY = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 };
/** One thread and its current job. It is started by its first job, and again by the next job after it was terminated. */
export class RenderThread {
  busy = false;
  private worker: Promise<Started> | undefined;

  /** Returns undefined when the thread returns no result in time, or ends. @throws UnavailableError when it cannot be started */
  async run(task: Task): Promise<CheckResult | RenderResult | undefined> {
    this.busy = true;
    try {
      const starting = this.worker ?? this.begin();
      const { worker, cpuMs } = await starting;
      // It has been closed, or has ended, while it started.
      if (this.worker !== starting) throw new Error('The thread has ended');
      worker.ref();
      const result = await resultOf(worker, cpuMs, task);
      // An idle thread must not keep a process alive.
      worker.unref();
      if (result === undefined) await this.end();
      return result;
    } catch (error) {
      await this.end();
      throw new UnavailableError('No thread can be started for templates', error);
    } finally {
      this.busy = false;
    }
  }

  /** Starts a thread. One that ended by itself, busy or idle, gets no more jobs. */
  private begin(): Promise<Started> {
    const started = start();
    const forget = (): void => {
      if (this.worker === started) this.worker = undefined;
    };
    started.then(({ worker }) => worker.once('exit', forget), forget);
    this.worker = started;
    return started;
  }

  async end(): Promise<void> {
    const worker = this.worker;
    this.worker = undefined;
    await worker?.then((started) => started.worker.terminate()).catch(() => undefined);
  }
}

interface Started {
  readonly worker: Worker;
  /** CPU time of the thread. */
  readonly cpuMs: () => number;
}

/** Resolves once the thread has loaded the library, so that this time counts for no template. */
function start(): Promise<Started> {
  const worker = new Worker(PROGRAM, {
    eval: true,
    workerData: { library: require.resolve('liquidjs') },
    resourceLimits: MEMORY,
  });
  return new Promise((resolve, reject) => {
    worker.once('message', (thread: string) => {
      const cpuMs = cpuClock((path) => readFileSync(path, 'latin1'), `/proc/self/task/${thread}/schedstat`);
      resolve({ worker, cpuMs });
    });
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('The thread has ended')));
  });
}

function resultOf(worker: Worker, cpuMs: () => number, task: Task): Promise<CheckResult | RenderResult | undefined> {
  return new Promise((resolve) => {
    const before = cpuMs();
    let deadlines = 0;
    const end = (result: CheckResult | RenderResult | undefined): void => {
      clearInterval(timer);
      worker.off('message', end).off('exit', nothing);
      resolve(result);
    };
    const nothing = (): void => end(undefined);
    const timer = setInterval(() => {
      deadlines += 1;
      if (cpuMs() - before >= DEADLINE_MS || deadlines >= MAX_DEADLINES) nothing();
    }, DEADLINE_MS);
    worker.on('message', end).on('exit', nothing);
    worker.postMessage(task);
  });
}
