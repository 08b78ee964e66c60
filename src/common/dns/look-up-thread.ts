import { Worker } from 'node:worker_threads';
import { type Lane, LookUpShares, type WeighedReply } from './look-up-shares';

/** One question to `node:dns`, as the thread is asked. */
export interface LookUp {
  readonly method: 'resolve4' | 'resolve6' | 'resolveMx' | 'resolveTxt' | 'resolveCname' | 'resolvePtr';
  readonly name: string;
  /** The system's own when empty. */
  readonly servers: readonly string[];
  /** Of the look-up with all its tries. */
  readonly timeoutMs: number;
  readonly tries: number;
  /** How many records are handed on; of mail exchangers the preferred ones. */
  readonly most: number;
}

/** Who makes a look-up, and until when. */
export interface LookUpCaller {
  /** Whose share it counts in; look-ups of the service itself have a share of their own. */
  readonly holder?: string;
  readonly signal?: AbortSignal;
}

/** `count`: how many records there were. */
type Reply = { readonly id: number } & (
  | { readonly records: unknown[]; readonly count: number }
  | { readonly code: string }
);

interface Job {
  readonly resolve: (reply: WeighedReply<unknown[]>) => void;
  readonly reject: (error: Error) => void;
}

/**
 * As text, since a thread loads no TypeScript, which tests run. Each look-up has a c-ares channel of its own (29 µs), because `cancel()` ends
 * everything that a channel has under way, other callers' look-ups included.
 */
const THREAD = `
  const { parentPort } = require('node:worker_threads');
  const { Resolver } = require('node:dns/promises');
  const underWay = new Map();
  const order = (records) => records.sort((a, b) => a.priority - b.priority);
  const recordsOf = async (resolver, { method, name, most }) => {
    const records = await resolver[method](name, ...(/[46]$/.test(method) ? [{ ttl: true }] : []));
    return { records: (method === 'resolveMx' ? order(records) : records).slice(0, most), count: records.length };
  };
  const lookUp = async (id, question) => {
    const { servers, timeoutMs, tries } = question;
    const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / tries), tries });
    const timer = setTimeout(() => resolver.cancel(), timeoutMs);
    underWay.set(id, resolver);
    try {
      if (servers.length > 0) resolver.setServers(servers);
      return { id, ...(await recordsOf(resolver, question)) };
    } catch (error) {
      return { id, code: String(error?.code ?? 'unknown') };
    } finally {
      clearTimeout(timer);
      underWay.delete(id);
    }
  };
  parentPort.on('message', ({ id, question }) => {
    if (question) lookUp(id, question).then((reply) => parentPort.postMessage(reply));
    else underWay.get(id)?.cancel();
  });
`;

/** Of JavaScript's objects: a few hundred replies of the greatest length. */
const MEMORY = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 16 };

/** Started by the first look-up, and again by the one after its end; an idle one holds up no process that ends. */
class LookUpThread {
  private worker: Worker | undefined;
  private readonly jobs = new Map<number, Job>();
  private lastId = 0;

  /** Rejects with the `code` of `node:dns`. */
  ask(question: LookUp, signal: AbortSignal | undefined): Promise<WeighedReply<unknown[]>> {
    const worker = (this.worker ??= this.begin());
    this.lastId += 1;
    const id = this.lastId;
    const cancel = () => worker.postMessage({ id });
    signal?.addEventListener('abort', cancel);
    return new Promise<WeighedReply<unknown[]>>((resolve, reject) => {
      this.jobs.set(id, { resolve, reject });
      worker.ref();
      worker.postMessage({ id, question });
    }).finally(() => signal?.removeEventListener('abort', cancel));
  }

  private begin(): Worker {
    const worker = new Worker(THREAD, { eval: true, resourceLimits: MEMORY });
    worker.on('message', (reply: Reply) => this.settle(worker, reply));
    // What an `error` says, `exit` follows.
    worker.on('error', () => undefined);
    worker.once('exit', () => {
      if (this.worker === worker) this.worker = undefined;
      const lost = [...this.jobs.values()];
      this.jobs.clear();
      for (const { reject } of lost) reject(failure('ECANCELLED'));
    });
    return worker;
  }

  private settle(worker: Worker, reply: Reply): void {
    const job = this.jobs.get(reply.id);
    this.jobs.delete(reply.id);
    if (this.jobs.size === 0) worker.unref();
    if ('records' in reply) job?.resolve({ found: reply.records, records: reply.count });
    else job?.reject(failure(reply.code));
  }
}

/**
 * Look-ups in separate threads, of which each holder has a share. The owner of a name decides how much its reply holds, and c-ares takes
 * 20 ms of CPU for 64 KiB of addresses: a hundred names of one customer stopped the event loop, and all look-ups, for seconds.
 */
class LookUps {
  private readonly shares = new LookUpShares();
  private readonly threads: Readonly<Record<Lane, LookUpThread>> = {
    usual: new LookUpThread(),
    slow: new LookUpThread(),
  };

  /** Rejects with a `code`, that of `node:dns` or of LookUpNotBegunError. */
  ask(question: LookUp, { holder = '', signal }: LookUpCaller = {}): Promise<unknown[]> {
    return this.shares.run(holder, (lane) => this.threads[lane].ask(question, signal), signal);
  }
}

/** Of this process. */
export const LOOK_UPS = new LookUps();

function failure(code: string): Error {
  return Object.assign(new Error(`The look-up ended: ${code}`), { code });
}
