import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext } from 'react';
import { ApiError, call, get, post } from './client';
import type { Data, Session } from './types';

const SESSION = ['session'] as const;

/** Null when no one is signed in. */
async function readSession(): Promise<Session | null> {
  try {
    return (await get<Data<Session | null>>('/console/session')).data;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

export function useSessionQuery() {
  return useQuery({ queryKey: SESSION, queryFn: readSession, staleTime: Infinity });
}

/** What one key has seen is not for the next. */
function forgetOthers(client: QueryClient): void {
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] });
}

/** A key, or the token of a sign-in link. */
export type Credential = { readonly key: string } | { readonly link: string };

export function useSignIn() {
  const client = useQueryClient();
  return async (credential: Credential): Promise<void> => {
    const { data } = await post<Data<Session>>('/console/session', credential);
    forgetOthers(client);
    client.setQueryData(SESSION, data);
  };
}

export function useSignOut() {
  const client = useQueryClient();
  return async (everywhere: boolean): Promise<void> => {
    await call('DELETE', '/console/session', { query: { everywhere } });
    forgetOthers(client);
    client.setQueryData(SESSION, null);
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

/** What the key may do; another scope may bring one with it, which the service has resolved. */
export function useMay(): (scope: string) => boolean {
  const { key } = useSession();
  return (scope) => key.scopes.includes(scope);
}
