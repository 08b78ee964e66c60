import { setClock } from './service-clock';
interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly suggestion?: string | undefined;
  readonly details?: Record<string, unknown>;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly endsSession?: boolean;
}

/** An error of the service, shown unchanged, so that users can act on it and quote it. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly suggestion: string | undefined;
  readonly details: Record<string, unknown>;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** When to come again, by the clock of this machine, since 1970. */
  readonly retryAtMs: number | undefined;
  /** It came with the end of the session, of which the page to sign in tells. */
  readonly endsSession: boolean;

  constructor(refusal: Refusal) {
    const { status, code, message, suggestion, details = {}, requestId, retryAfterSeconds, endsSession } = refusal;
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.suggestion = suggestion;
    this.details = details;
    this.requestId = requestId;
    this.retryAfterSeconds = retryAfterSeconds;
    this.retryAtMs = retryAfterSeconds === undefined ? undefined : Date.now() + retryAfterSeconds * 1_000;
    this.endsSession = endsSession ?? false;
  }

  /** Messages of a failed validation, by field. */
  get validation(): Record<string, string[]> {
    return (this.details.validation ?? {}) as Record<string, string[]>;
  }
}

export type Query = Record<string, string | number | boolean | undefined>;

/** The path with its query; values that are undefined or empty are left out. */
export function withQuery(path: string, query: Query = {}): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? path : `${path}?${text}`;
}

export interface CallOptions {
  readonly query?: Query;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** Another form than JSON. */
  readonly accept?: string;
  /** Makes a repetition return the result of the first request. */
  readonly idempotencyKey?: string;
}

/** One request with the session's cookie. @throws ApiError for every response that is no success */
export async function call<Answer>(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  const text = await (await request(method, path, options)).text();
  if (text !== '' && parse(text) === undefined) throw foreign();
  return parse(text) as Answer;
}

/** The response as a file. @param accept its form, like `application/zip` @throws as `call` */
export async function getFile(path: string, accept: string): Promise<Blob> {
  return (await request('GET', path, { accept })).blob();
}

let sessionEnded = (): void => undefined;
/** Counts the sessions of this page. */
let generation = 0;

/** Sets what happens when the service no longer knows the session, whatever was requested. */
export function onSessionEnd(listener: () => void): void {
  sessionEnded = listener;
}

/** Another session has begun: what the service still says of the one before does not concern it. */
export function beginSession(): void {
  generation += 1;
}

const away = (code: string, message: string, suggestion: string) =>
  new ApiError({ status: 0, code, message, suggestion });
/** There is no response: the network or the service is away. */
export const unreachable = (): ApiError =>
  away('unreachable', 'The service does not respond', 'Check the network, then try again');
/** A proxy has answered, or the network's own page to sign in. */
const foreign = (): ApiError =>
  away('no_json', 'The response did not come from the service', 'Look for a proxy, or a network that asks to sign in');

async function request(method: string, path: string, options: CallOptions): Promise<Response> {
  const { query, body, signal, accept, idempotencyKey } = options;
  const begunIn = generation;
  let response: Response;
  try {
    response = await fetch(withQuery(path, query), {
      method,
      // Writes need it. The page has requested its session before this script was read: with a header the browser would request it again.
      headers: {
        ...(method !== 'GET' && { 'x-waybill-console': '1' }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(accept !== undefined && { accept }),
        ...(idempotencyKey !== undefined && { 'x-idempotency-key': idempotencyKey }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw unreachable();
  }
  // Each time the window is returned to.
  if (path === '/console/session') setClock(response.headers.get('date'));
  const isOfSession = begunIn === generation && !path.startsWith('/console/session');
  const endsSession = response.status === 401 && isOfSession;
  if (endsSession) sessionEnded();
  if (!response.ok) throw toError(response, parse(await response.text()), endsSession);
  return response;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A text, or the placeholder for a missing one. */
const textOf = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise);

function toError({ status, headers }: Response, answer: unknown, endsSession: boolean): ApiError {
  const error = (answer as { error?: Record<string, unknown> } | undefined)?.error ?? {};
  const retryAfter = Number(headers.get('retry-after'));
  return new ApiError({
    status,
    code: textOf(error.code, `http_${status}`),
    message: textOf(error.message, `The service responded with status ${status}`),
    suggestion: textOf(error.suggestion, '') || undefined,
    details: (error.details ?? {}) as Record<string, unknown>,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: retryAfter > 0 ? retryAfter : undefined,
    endsSession,
  });
}

export const get = <Answer>(path: string, query?: Query, signal?: AbortSignal): Promise<Answer> =>
  call<Answer>('GET', path, { ...(query && { query }), ...(signal && { signal }) });
export const post = <Answer>(path: string, body?: unknown): Promise<Answer> =>
  call<Answer>('POST', path, body === undefined ? {} : { body });
export const patch = <Answer>(path: string, body: unknown): Promise<Answer> => call<Answer>('PATCH', path, { body });
export const del = <Answer>(path: string): Promise<Answer> => call<Answer>('DELETE', path);

/** A random UUID (RFC 9562, version 4). Over http browsers have no `crypto.randomUUID`, except on localhost. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** Whether what was asked for does not exist: asking again changes nothing. */
export function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}
