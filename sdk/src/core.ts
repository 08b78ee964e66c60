import { type Download, toDownload } from './download.js';
import { ConnectionError, type ErrorFields, errorOf, TimeoutError, type WaybillError } from './errors.js';
import { baseOf, idempotencyKeyOf, keyOf, queryString, requirePath } from './request-parts.js';

export interface WaybillOptions {
  /** `wb_live_…` or `wb_test_…` */
  readonly apiKey: string;
  /** Like `https://mail.example.com`; `/v1` is added. */
  readonly baseUrl: string;
  /** Of one attempt; 30,000. `Infinity`: none. */
  readonly timeoutMs?: number | undefined;
  /** After the first attempt; 3. */
  readonly maxRetries?: number | undefined;
  /** Instead of the platform's. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Makes html of the `react` of a send: `render` of `@react-email/render`, for one. */
  readonly render?: ((element: never) => Promise<string> | string) | undefined;
}

/** The last argument of every method. */
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly maxRetries?: number | undefined;
  /** Of methods that take one; otherwise one is made for each call, so that its retries count once. */
  readonly idempotencyKey?: string | undefined;
}

/** One call, as the generated methods describe it. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: object | undefined;
  readonly body?: unknown;
  /** The route takes an idempotency key. */
  readonly isKeyed?: boolean;
  /** The media type of a file, where the route has other forms than JSON. */
  readonly accept?: string;
}

interface Attempt {
  readonly url: string;
  readonly init: RequestInit;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Makes the result of a response. Once it is settled, neither time limit nor signal reach the controller any more. */
type Take<T> = (response: Response, controller: AbortController) => T | Promise<T>;

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_RETRIES = 3;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 8_000;
/** A longer `Retry-After` is the caller's to wait for. */
const MAX_RETRY_AFTER_SECONDS = 60;
/** A repetition changes nothing more (RFC 9110 section 9.2.2). */
const IDEMPOTENT_METHODS: ReadonlySet<Call['method']> = new Set(['GET', 'PUT', 'DELETE']);
/** The service has done nothing. With 503 it may have: its connection to the database can break in the commit. */
const TOO_MANY_REQUESTS = 429;

/** Sends requests: keys, retries, time limits, errors. */
export class Core {
  private readonly apiKey: string;
  private readonly base: string;
  private readonly fetch: typeof globalThis.fetch;
  private readonly timeoutMs: number;
  private readonly maxRetries: number;

  constructor(private readonly options: WaybillOptions) {
    this.apiKey = keyOf(options.apiKey);
    this.base = baseOf(options.baseUrl);
    this.fetch = options.fetch ?? ((...args) => globalThis.fetch(...args));
    this.timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.maxRetries = options.maxRetries ?? DEFAULT_RETRIES;
  }

  /** Returns the `data` of the response, or all of it where there is more, as in lists. @throws WaybillError, ConnectionError */
  call<T>(call: Call, options?: RequestOptions): Promise<T> {
    return this.send(call, options, (response) => read<T>(response));
  }

  /**
   * Returns a file as a stream: it is read at the caller's pace and never held as a whole. Time limit and retries are for its
   * beginning; `signal` ends it at any time.
   * @throws WaybillError, ConnectionError
   */
  download(call: Call, options?: RequestOptions): Promise<Download> {
    return this.send(call, options, (response, controller) =>
      response.ok && !isPage(response) ? toDownload(response, controller, options?.signal) : read(response),
    );
  }

  private async send<T>(call: Call, options: RequestOptions = {}, take: Take<T>): Promise<T> {
    const attempt = await this.prepare(call, options);
    const retries = options.maxRetries ?? this.maxRetries;
    for (let count = 0; ; count += 1) {
      options.signal?.throwIfAborted();
      try {
        return await this.attempt(attempt, take);
      } catch (error) {
        const delayMs = count < retries ? delayBefore(error, call, count) : undefined;
        if (delayMs === undefined || options.signal?.aborted) throw error;
        await pause(delayMs, options.signal);
      }
    }
  }

  private async prepare(call: Call, options: RequestOptions): Promise<Attempt> {
    const { method, path, query, isKeyed } = call;
    const body = call.body === undefined ? undefined : await this.rendered(call.body);
    const headers: Record<string, string> = {
      authorization: `Bearer ${this.apiKey}`,
      accept: call.accept ?? 'application/json',
    };
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (isKeyed) headers['idempotency-key'] = idempotencyKeyOf(options.idempotencyKey, body);
    return {
      url: `${this.base}${requirePath(path)}${queryString(query)}`,
      init: { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) },
      timeoutMs: timeoutOf(options.timeoutMs ?? this.timeoutMs),
      signal: options.signal,
    };
  }

  private async attempt<T>({ url, init, timeoutMs, signal }: Attempt, take: Take<T>): Promise<T> {
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      controller.abort();
    }, timeoutMs);
    try {
      const response = await this.fetch(url, { ...init, signal: controller.signal });
      return await take(response, controller);
    } catch (error) {
      if (late) throw new TimeoutError(`No response within ${timeoutMs} ms`, { cause: error });
      if (signal?.aborted || isRefusal(error)) throw error;
      throw new ConnectionError(`The service cannot be reached: ${(error as Error).message}`, { cause: error });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  /** With `react` elements made into html. */
  private async rendered(body: unknown): Promise<unknown> {
    if (Array.isArray(body)) return Promise.all(body.map((item) => this.rendered(item)));
    if (typeof body !== 'object' || body === null || !('react' in body)) return body;
    const { react, ...others } = body;
    const { render } = this.options;
    if (!render) throw new TypeError('A send with `react` needs `render` in the options of the client');
    return { ...others, html: await render(react as never) };
  }
}

/** The longest that a timer takes is 24 days. @throws TypeError */
function timeoutOf(timeoutMs: number): number {
  if (!(timeoutMs > 0)) throw new TypeError('timeoutMs must be greater than 0; Infinity for no limit');
  return Math.min(timeoutMs, 2 ** 31 - 1);
}

/** The service has none below /v1: it is a proxy's. */
const isPage = ({ headers }: Response): boolean => /^text\/html\b/i.test(headers.get('content-type') ?? '');

async function read<T>(response: Response): Promise<T> {
  const type = response.headers.get('content-type') ?? '';
  if (response.ok && type.startsWith('application/octet-stream')) {
    return new Uint8Array(await response.arrayBuffer()) as T;
  }
  const body = jsonOf(await response.text());
  if (!response.ok) throw toError(response, body);
  // The page of a proxy, or of another server at this address: a send is not taken for accepted.
  if (body === undefined) throw new Error(`the response ${response.status} is no JSON; is baseUrl right?`);
  const keys = Object.keys(body);
  return (keys.length === 1 && keys[0] === 'data' ? (body as { data: unknown }).data : body) as T;
}

/** Undefined: it is no object, whatever its `Content-Type` says. */
function jsonOf(text: string): Record<string, unknown> | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function toError(response: Response, body: { error?: Partial<ErrorFields> } | undefined): WaybillError {
  const { code, message, details, suggestion } = body?.error ?? {};
  const retryAfter = secondsOf(response.headers.get('retry-after') ?? '');
  return errorOf({
    status: response.status,
    // A proxy in front of the service responds in its own words.
    code: typeof code === 'string' ? code : response.status >= 500 ? 'service_unavailable' : 'invalid_request',
    message: message ?? `The service responded with ${response.status}`,
    details,
    suggestion,
    requestId: response.headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: retryAfter,
  });
}

/** Of `Retry-After`: seconds, or a date, as proxies write it (RFC 9110 section 10.2.3). */
function secondsOf(text: string): number | undefined {
  if (/^\d+$/.test(text)) return Number(text);
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, Math.ceil((atMs - Date.now()) / 1_000));
}

const isRefusal = (error: unknown): error is WaybillError =>
  typeof (error as Partial<WaybillError>).status === 'number';

/** Undefined: what failed is not tried again. */
function delayBefore(error: unknown, call: Call, count: number): number | undefined {
  const isRepeatable = call.isKeyed === true || IDEMPOTENT_METHODS.has(call.method);
  if (error instanceof ConnectionError) return isRepeatable ? backoff(count) : undefined;
  if (!isRefusal(error)) return undefined;
  if (!passes(error, call) && !(error.status >= 500 && isRepeatable)) return undefined;
  const { retryAfterSeconds } = error;
  if (retryAfterSeconds === undefined) return backoff(count);
  return retryAfterSeconds <= MAX_RETRY_AFTER_SECONDS ? retryAfterSeconds * 1_000 + jitter(FIRST_DELAY_MS) : undefined;
}

/** Too much at a time; or the first attempt of the same call is still at work, although its connection broke. */
function passes({ status, code }: WaybillError, { isKeyed }: Call): boolean {
  return status === TOO_MANY_REQUESTS || (isKeyed === true && code === 'idempotency_in_progress');
}

/** Half of it by chance, so that many clients do not come back together. */
function backoff(count: number): number {
  const delayMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** count);
  return delayMs / 2 + jitter(delayMs / 2);
}

function jitter(maxMs: number): number {
  return Math.random() * maxMs;
}

function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      signal?.removeEventListener('abort', abort);
      resolve();
    };
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(end, delayMs);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
