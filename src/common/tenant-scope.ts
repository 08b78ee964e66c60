import { AsyncLocalStorage } from 'node:async_hooks';

/** Whose rows statements may touch: those of these organizations, or those of everyone. */
export type TenantScope = readonly string[] | 'everyone';

/** Of one request; its guard sets it once it knows the caller. */
interface Holder {
  scope: TenantScope;
}

const holders = new AsyncLocalStorage<Holder>();
/** Frozen: it stands for callers without a key, and no guard may change it. */
const NO_TENANT: Holder = Object.freeze<Holder>({ scope: [] });

/** From Node 24 on it is the engine that carries the store along; before, each promise of the process costs two calls more. */
const IS_CHEAP = Number(process.versions.node.split('.')[0]) >= 24;
let running = 0;

/**
 * The scope of row-level security (docs/adr/0023). Statements of an HTTP request see nothing until its guard has said whose
 * request it is, then that organization's rows; work that no request began (jobs, worker, command line) sees everyone's.
 */
export function currentScope(): TenantScope {
  return holders.getStore()?.scope ?? 'everyone';
}

/** Routes that take mail name the organizations in each statement, so that nothing need be tracked before Node 24. */
const EXPLICIT_ROUTES = /^POST \/v1\/emails(\/batch)?(\?|$)/;

/** Runs a request: whatever it starts sees nothing until `enterTenant`. @param closed settles when it is over */
export function startRequest(
  request: { method?: string; url?: string },
  closed: Promise<unknown>,
  work: () => void,
): void {
  if (!IS_CHEAP && EXPLICIT_ROUTES.test(`${request.method} ${request.url}`)) work();
  else void track({ scope: [] }, () => (work(), closed));
}

/** Callbacks of sockets that have lost their request run like `work`: they see nothing. */
export function seeNothing<T>(work: () => T): T {
  return IS_CHEAP ? holders.run(NO_TENANT, work) : work();
}

/** From now on the request sees this organization's rows. */
export function enterTenant(organizationId: string): void {
  enter([organizationId]);
}

/** From now on the request sees everyone's rows: for routes that carry `@AcrossTenants()`. */
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
 * Deliberately sees everyone's rows inside a request, or in what one has left behind (timers and batches keep the scope in
 * which they began). test/architecture/tenant-scope.spec.ts lists who may, and why.
 */
export function acrossTenants<T>(work: () => Promise<T>): Promise<T> {
  return holders.getStore() ? track({ scope: 'everyone' }, work) : work();
}

/** The hooks are on only while something is tracked. */
function track<T>(holder: Holder, work: () => Promise<T>): Promise<T> {
  running += 1;
  const result = holders.run(holder, work);
  void result
    .catch(() => undefined)
    .then(() => {
      running -= 1;
      if (running === 0 && !IS_CHEAP) holders.disable();
    });
  return result;
}
