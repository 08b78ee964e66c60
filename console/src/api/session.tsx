import { type QueryClient, type QueryKey, skipToken, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect } from 'react';
import { ApiError, beginSession, call, get, newId, post } from './client';
import { store, stored } from './storage';
import type { Data, Session } from './types';

const SESSION = ['session'] as const;
/** Set once a session has ended without a sign-out in this tab. */
const ENDED = ['session-ended'] as const;
/** Why the service refuses a session that it knows. */
const REFUSED = ['session-refused'] as const;

const isSuspended = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.code === 'account_suspended';

/** Tabs share the cookie: the others learn from it that another session has begun, or that theirs has ended. */
const CHANGED = 'waybill-session-changed';
/** As this tab's session began, or was read last. */
let knownChange = stored(CHANGED);

export interface Ended {
  /** The session whose page waits, hidden, as something was being written in a dialog on it. */
  readonly waiting?: Session;
}

/** Whose session it is: a key's, or that of all who make links for an organization and mode, as each link has a key of its own. */
export const holderOf = ({ kind, organization, key }: Session): string =>
  key.sessionOnly ? [kind, organization?.id, key.mode].join(' ') : key.id;

/**
 * The session is read again where another tab may have changed it: otherwise this one would show and change another's data. Null when
 * no one is signed in, or when nothing can be done with the session.
 */
export function useSessionQuery() {
  const client = useQueryClient();
  const queryFn = async ({ signal }: { signal: AbortSignal }): Promise<Session | null> => {
    const before = client.getQueryData<Session | null>(SESSION);
    try {
      const { data: session } = await get<Data<Session | null>>('/console/session', undefined, signal);
      client.setQueryData(REFUSED, null);
      return changed(client, before, session);
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return changed(client, before, null);
      // What is open stays: it may hold what the user has not saved.
      if (before || !isSuspended(error)) throw error;
      client.setQueryData(REFUSED, error);
      return null;
    }
  };
  useEffect(() => {
    const readAgain = ({ key }: StorageEvent) => {
      if (key !== CHANGED) return;
      // One that is under way may be of the session before.
      void client.cancelQueries({ queryKey: SESSION }).then(() => client.invalidateQueries({ queryKey: SESSION }));
    };
    window.addEventListener('storage', readAgain);
    return () => window.removeEventListener('storage', readAgain);
  }, [client]);
  return useQuery({ queryKey: SESSION, queryFn, staleTime: Infinity, refetchOnWindowFocus: 'always' });
}

/** The session as it was just read. */
function changed(client: QueryClient, before: Session | null | undefined, session: Session | null): Session | null {
  const isOther = before !== undefined && before?.key.id !== session?.key.id;
  if (isOther) beginSession();
  if (session === null) {
    if (before) end(client);
    else if (hasChangedElsewhere()) client.setQueryData<Ended | null>(ENDED, (ended) => ended && {});
    return null;
  }
  knownChange = stored(CHANGED);
  if (isOther) replace(client, session);
  return session;
}

const hasChangedElsewhere = (): boolean => stored(CHANGED) !== knownChange;

/** A session has ended by itself, or in another tab. What was loaded with it is kept only for a page that waits. */
function end(client: QueryClient): void {
  const session = client.getQueryData<Session | null>(SESSION);
  // Another response has told it already, and the dialog is hidden.
  if (!session) return;
  const isWriting = document.querySelector('dialog[open] :is(input, select, textarea)') !== null;
  const waits = isWriting && !hasChangedElsewhere();
  if (!waits) forgetOthers(client, null);
  for (const query of client.getQueryCache().findAll({ type: 'active' })) {
    // A hidden page uses no data, which would be forgotten after minutes, and the dialog with it.
    query.setOptions({ ...query.options, gcTime: Infinity });
  }
  client.setQueryData<Ended>(ENDED, waits ? { waiting: session } : {});
}

/** A page that waits for this session, or is open, goes on; what was loaded for anyone else is forgotten. */
function replace(client: QueryClient, session: Session | null): void {
  const last = client.getQueryData<Session>(SESSION) ?? client.getQueryData<Ended>(ENDED)?.waiting;
  if (session && last && holderOf(last) === holderOf(session)) {
    void client.invalidateQueries({ predicate: ({ queryKey: [name] }) => name !== SESSION[0] });
  } else {
    forgetOthers(client, session);
  }
  client.setQueryData(ENDED, null);
}

/** Why the browser's session is of no use, if that is so. */
export function useSessionRefusal(): ApiError | undefined {
  return useQuery<ApiError | null>({ queryKey: REFUSED, queryFn: skipToken, staleTime: Infinity }).data ?? undefined;
}

/** What the user has written and not saved, with the organization that it is for. */
export const DRAFTS = 'drafts';

/** Data loaded with one key must not be shown with the next. Drafts wait for their organization's next session: theirs may have ended. */
function forgetOthers(client: QueryClient, session: Session | null): void {
  const kept: readonly unknown[] = [SESSION[0], REFUSED[0], ENDED[0]];
  const isWanted = ([name, organizationId]: QueryKey) =>
    kept.includes(name) || (name === DRAFTS && (session === null || organizationId === session.organization?.id));
  client.removeQueries({ predicate: ({ queryKey }) => !isWanted(queryKey) });
}

/** What was read of the session before, or will be, must not take the place of this one. */
async function begin(client: QueryClient, session: Session | null): Promise<void> {
  beginSession();
  await client.cancelQueries({ queryKey: SESSION });
  replace(client, session);
  client.setQueryData(REFUSED, null);
  client.setQueryData(SESSION, session);
  store(CHANGED, newId());
  knownChange = stored(CHANGED);
}

/** The service no longer knows the session: the page says so, and asks to sign in. */
export function endSession(client: QueryClient): void {
  end(client);
  client.setQueryData(SESSION, null);
}

/** Why the page asks to sign in, if a session has ended. */
export function useEnded(): Ended | undefined {
  return useQuery<Ended | null>({ queryKey: ENDED, queryFn: skipToken, staleTime: Infinity }).data ?? undefined;
}

/** A key, or the token of a sign-in link. */
export type Credential = { readonly key: string } | { readonly link: string };

/** Else the page would say that a session has ended which never began. */
const notKept = (): ApiError =>
  new ApiError({
    status: 0,
    code: 'no_cookie',
    message: 'The browser did not store the session',
    suggestion: 'Allow its cookie. With a PUBLIC_URL of https, open the console over https',
  });

export function useSignIn() {
  const client = useQueryClient();
  return async (credential: Credential): Promise<void> => {
    await post('/console/session', credential);
    const { data: session } = await get<Data<Session | null>>('/console/session');
    if (session === null) throw notKept();
    await begin(client, session);
  };
}

export function useSignOut() {
  const client = useQueryClient();
  return async (everywhere: boolean): Promise<void> => {
    await call('DELETE', '/console/session', { query: { everywhere } });
    client.removeQueries({ queryKey: [DRAFTS] });
    await begin(client, null);
  };
}

const Current = createContext<Session | null>(null);

export function SessionProvider({ session, children }: { session: Session; children: ReactNode }) {
  return <Current.Provider value={session}>{children}</Current.Provider>;
}

/** The session of the page: there is none without one. */
export function useSession(): Session {
  const session = useContext(Current);
  if (!session) throw new Error('useSession outside of a session');
  return session;
}

/** Scopes of the key; the service has added the scopes that others include. */
export function useMay(): (scope: string) => boolean {
  const { key } = useSession();
  return (scope) => key.scopes.includes(scope);
}
