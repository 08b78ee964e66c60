import { useSyncExternalStore } from 'react';

/** The token of a followed link; it is removed from the address at once, so that it stays in no history. */
function readAddress(): string | undefined {
  const token = /^#link=([\w-]+)$/.exec(window.location.hash)?.[1];
  if (token !== undefined) window.history.replaceState(null, '', window.location.pathname);
  return token;
}

let waiting = readAddress();
const listeners = new Set<() => void>();

function setWaiting(token: string | undefined): void {
  waiting = token;
  for (const listener of listeners) listener();
}

// A link that is opened in a tab of the console loads no page: only what stands behind the # changes.
window.addEventListener('hashchange', () => {
  const token = readAddress();
  if (token !== undefined) setWaiting(token);
});

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The token of the link that waits for the user's decision. */
export function useLink(): string | undefined {
  return useSyncExternalStore(subscribe, () => waiting);
}

/** The link is no longer waited for. Returns it: it works once, and is handed out once. */
export function takeLink(): string | undefined {
  const token = waiting;
  if (token !== undefined) setWaiting(undefined);
  return token;
}
