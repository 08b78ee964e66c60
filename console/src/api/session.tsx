import { type QueryClient, type QueryKey, skipToken, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect } from 'react';
import { ApiError, beginSession, call, get, newId, post } from './client';
import type { Data, Session } from './types';

const SESSION = ['session'] as const;
/** Whether a session has ended without a sign-out in this tab. */
const ENDED = ['session-ended'] as const;

/** Why the service refuses a session that it knows. */
const REFUSED = ['session-refused'] as const;

const isSuspended = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.code === 'account_suspended';

/** Tabs share the cookie: the others learn from it that another session has begun, or that theirs has ended. */
const CHANGED = 'waybill-session-changed';

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
  if (before !== undefined && before?.key.id !== session?.key.id) {
    beginSession();
    forgetOthers(client, session);
  }
  if (before && session === null) client.setQueryData(ENDED, true);
  return session;
}

/** Why the browser's session is of no use, if that is so. */
export function useSessionRefusal(): ApiError | undefined {
  return useQuery<ApiError | null>({ queryKey: REFUSED, queryFn: skipToken, staleTime: Infinity }).data ?? undefined;
}

/** What the user has written and not saved, with the organization that it is for. */
export const DRAFTS = 'drafts';

/** Data loaded with one key must not be shown with the next. Drafts wait for their organization's next session: theirs may have ended. */
function forgetOthers(client: QueryClient, session: Session | null): void {
  const kept: readonly unknown[] = [SESSION[0], REFUSED[0]];
  const isWanted = ([name, organizationId]: QueryKey) =>
    kept.includes(name) || (name === DRAFTS && (session === null || organizationId === session.organization?.id));
  client.removeQueries({ predicate: ({ queryKey }) => !isWanted(queryKey) });
}

/** What was read of the session before, or will be, must not take the place of this one. */
async function begin(client: QueryClient, session: Session | null): Promise<void> {
  beginSession();
  await client.cancelQueries({ queryKey: SESSION });
  forgetOthers(client, session);
  client.setQueryData(REFUSED, null);
  client.setQueryData(SESSION, session);
  localStorage.setItem(CHANGED, newId());
}

/** The service no longer knows the session: the page says so, and asks to sign in. */
export function endSession(client: QueryClient): void {
  if (client.getQueryData(SESSION)) client.setQueryData(ENDED, true);
  client.setQueryData(SESSION, null);
}

/** Whether to explain why the page asks to sign in. */
export function useSessionEnded(): boolean {
  return useQueryClient().getQueryData(ENDED) === true;
}

/** A key, or the token of a sign-in link. */
export type Credential = { readonly key: string } | { readonly link: string };

export function useSignIn() {
  const client = useQueryClient();
  return async (credential: Credential): Promise<void> => {
    await begin(client, (await post<Data<Session>>('/console/session', credential)).data);
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
