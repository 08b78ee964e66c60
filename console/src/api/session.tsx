import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect } from 'react';
import { ApiError, call, get, newId, post } from './client';
import type { Data, Session } from './types';

const SESSION = ['session'] as const;
/** Whether a session has ended without a sign-out in this tab. */
const ENDED = ['session-ended'] as const;

/** Null when no one is signed in. */
async function readSession(): Promise<Session | null> {
  try {
    return (await get<Data<Session | null>>('/console/session')).data;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

/** Tabs share the cookie: the others learn from it that another session has begun, or that theirs has ended. */
const CHANGED = 'waybill-session-changed';

/** The session is read again where another tab may have changed it: otherwise this one would show and change another's data. */
export function useSessionQuery() {
  const client = useQueryClient();
  const queryFn = async () => {
    const before = client.getQueryData<Session | null>(SESSION);
    const session = await readSession();
    if (before !== undefined && before?.key.id !== session?.key.id) forgetOthers(client);
    if (before && session === null) client.setQueryData(ENDED, true);
    return session;
  };
  useEffect(() => {
    const readAgain = ({ key }: StorageEvent) => {
      if (key === CHANGED) void client.invalidateQueries({ queryKey: SESSION });
    };
    window.addEventListener('storage', readAgain);
    return () => window.removeEventListener('storage', readAgain);
  }, [client]);
  return useQuery({ queryKey: SESSION, queryFn, staleTime: Infinity, refetchOnWindowFocus: 'always' });
}

/** Data loaded with one key must not be shown with the next. */
function forgetOthers(client: QueryClient): void {
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] });
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

function tellOtherTabs(): void {
  localStorage.setItem(CHANGED, newId());
}

/** A key, or the token of a sign-in link. */
export type Credential = { readonly key: string } | { readonly link: string };

export function useSignIn() {
  const client = useQueryClient();
  return async (credential: Credential): Promise<void> => {
    const { data } = await post<Data<Session>>('/console/session', credential);
    forgetOthers(client);
    client.setQueryData(SESSION, data);
    tellOtherTabs();
  };
}

export function useSignOut() {
  const client = useQueryClient();
  return async (everywhere: boolean): Promise<void> => {
    await call('DELETE', '/console/session', { query: { everywhere } });
    forgetOthers(client);
    client.setQueryData(SESSION, null);
    tellOtherTabs();
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
