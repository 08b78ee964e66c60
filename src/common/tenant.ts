import { AsyncLocalStorage } from 'node:async_hooks';
import { setMaxListeners } from 'node:events';
import { ClientGoneError } from './errors/app-error';

/** Live mail leaves the service; test mail goes to the simulator. Their data never mix. */
export type Mode = 'live' | 'test';

export const MODES: readonly Mode[] = ['live', 'test'];

/** Whose data a call reads or changes. Every query filters by organization and mode. */
export interface Tenant {
  readonly organizationId: string;
  readonly mode: Mode;
  /** Set when the caller's API key is bound to one domain: it sees and changes only that domain's data. */
  readonly domainId?: string | undefined;
}

/** What belongs to one tenant. */
export interface TenantGroup<Row> {
  readonly tenant: Tenant;
  readonly rows: readonly Row[];
}

/**
 * Rows by organization and mode, in the order of the primary keys: where a batch takes one statement for each tenant, all
 * batches lock the tenants' rows in the same order.
 */
export function groupByTenant<Row extends Tenant>(rows: readonly Row[]): TenantGroup<Row>[] {
  const groups = new Map<string, { tenant: Tenant; rows: Row[] }>();
  for (const row of rows) {
    const { organizationId, mode } = row;
    const name = `${organizationId} ${mode}`;
    const group = groups.get(name);
    if (group) group.rows.push(row);
    else groups.set(name, { tenant: { organizationId, mode }, rows: [row] });
  }
  if (groups.size === 1) return [...groups.values()];
  return [...groups].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, group]) => group);
}

/** The rows that statements may read and change: those of these organizations, or all. */
export type TenantScope = readonly string[] | 'everyone';

/** A request and what it holds. */
export interface CurrentRequest {
  /** Whose request it is; undefined until its guard knows, and for operators. */
  organizationId: string | undefined;
  /** GET or HEAD: it changes nothing. */
  readonly isRead: boolean;
  /** Connections to the database that it has. */
  connections: number;
  /** Settles when it is over: its response was sent, or its client has gone. */
  readonly closed: Promise<unknown>;
  signal: AbortSignal | undefined;
}

/** Of one request; its guard sets it after authentication. */
interface Holder {
  scope: TenantScope;
  /** Absent for batches and other work on behalf of several. */
  readonly request?: CurrentRequest;
}

const holders = new AsyncLocalStorage<Holder | undefined>();
/** Frozen: it stands for callers without a key, and no guard may change it. */
const NO_TENANT: Holder = Object.freeze<Holder>({ scope: [] });

/** From Node 24 on the engine itself propagates the store; before, hooks cost two calls for each promise of the process. */
const IS_NATIVE = Number(process.versions.node.split('.')[0]) >= 24;
let running = 0;

/**
 * The scope of row-level security (docs/adr/0023). Statements of an HTTP request see nothing until its guard sets the
 * organization, then that organization's rows; work outside of requests (jobs, worker, command line) sees all.
 */
export function currentScope(): TenantScope {
  return holders.getStore()?.scope ?? 'everyone';
}

/** The request that this is a part of; undefined outside of requests, and for work of `withinTenants` and for several requests. */
export function currentRequest(): CurrentRequest | undefined {
  return holders.getStore()?.request;
}

/**
 * Aborts when the client of the current request has gone; undefined outside of requests. For work that waits and that is of no use
 * without its response.
 */
export function clientGone(): AbortSignal | undefined {
  const request = currentRequest();
  if (!request || request.signal) return request?.signal;
  const controller = new AbortController();
  // Each email of a batch may wait for its own rendering; Node warns of more than ten as of a leak.
  setMaxListeners(0, controller.signal);
  void request.closed.then(() => controller.abort(CLIENT_GONE));
  return (request.signal = controller.signal);
}

/** The reason of such signals, made once: that of an abort without one is a new DOMException with its stack, 2 % of a read's time. */
export const CLIENT_GONE = new ClientGoneError();

/** Routes that take mail name the organizations in each statement, so that nothing need be tracked before Node 24. */
const EXPLICIT_ROUTES = /^POST \/v1\/emails(\/batch)?(\?|$)/;

/** Runs a request: whatever it starts sees nothing until `enterTenant`. @param closed settles when it is over */
export function startRequest(
  request: { method?: string; url?: string },
  closed: Promise<unknown>,
  work: () => void,
): void {
  // A pipelined request begins in a callback of the one before, which is over: its client would count as gone.
  if (!IS_NATIVE && EXPLICIT_ROUTES.test(`${request.method} ${request.url}`)) holders.run(undefined, work);
  else {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const started: CurrentRequest = { organizationId: undefined, isRead, connections: 0, closed, signal: undefined };
    void track({ scope: [], request: started }, () => (work(), closed));
  }
}

/** Runs `work`, and callbacks of sockets that have lost their request, without access to any rows. */
export function withoutTenant<T>(work: () => T): T {
  return IS_NATIVE ? holders.run(NO_TENANT, work) : work();
}

/** From now on the request sees this organization's rows. */
export function enterTenant(organizationId: string): void {
  enter([organizationId]);
  const request = currentRequest();
  if (request) request.organizationId = organizationId;
}

/** From now on the request sees all rows: for routes with `@AcrossTenants()`. */
export function enterEveryTenant(): void {
  enter('everyone');
}

function enter(scope: TenantScope): void {
  const holder = holders.getStore();
  if (holder) holder.scope = scope;
}

/** What `work` starts sees the rows of just these organizations, whatever the scope of the caller. */
export function withinTenants<T>(organizationIds: readonly string[], work: () => Promise<T>): Promise<T> {
  return track({ scope: organizationIds }, work);
}

/**
 * Sees all rows inside a request, or in timers and batches that it started (they keep its scope).
 * test/architecture/tenant-scope.spec.ts lists the callers, and why.
 *
 * @param request whose share of the connections it counts in; absent for work that serves several requests
 */
export function acrossTenants<T>(work: () => Promise<T>, request?: CurrentRequest): Promise<T> {
  return holders.getStore() ? track({ scope: 'everyone', ...(request && { request }) }, work) : work();
}

/** The hooks are on only while something is tracked. */
function track<T>(holder: Holder, work: () => Promise<T>): Promise<T> {
  running += 1;
  const result = holders.run(holder, work);
  void result
    .catch(() => undefined)
    .then(() => {
      running -= 1;
      if (running === 0 && !IS_NATIVE) holders.disable();
    });
  return result;
}
