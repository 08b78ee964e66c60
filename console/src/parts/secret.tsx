import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from 'react';
import { useEnded } from '../api/session';
import { Button, CopyButton } from './button';
import { Dialog } from './dialog';

/** What the service returns once and does not keep. */
export interface Secret {
  readonly title: string;
  /** Its purpose. */
  readonly text: string;
  readonly secret: string;
  /** `the key` */
  readonly what: string;
}

type Show = (secret: Secret) => void;

const Shows = createContext<Show>(() => undefined);

/**
 * Shows secrets over all pages. A page is left by “Back”, also while its request is under way, and the secret with it if the page
 * showed it. It is in the memory of this tab only.
 */
export function SecretProvider({ children }: { children: ReactNode }) {
  const [secrets, setSecrets] = useState<readonly Secret[]>([]);
  const show = useCallback<Show>((secret) => setSecrets((before) => [...before, secret]), []);
  // It is kept for no one, not on a page that waits for its user either.
  if (useEnded() && secrets.length > 0) setSecrets([]);
  const [first] = secrets;
  return (
    <Shows.Provider value={show}>
      {children}
      {first && (
        <SecretDialog key={first.secret} shown={first} onClose={() => setSecrets((before) => before.slice(1))} />
      )}
    </Shows.Provider>
  );
}

/** Shows a secret until the user says that they have it, whatever page they turn to. */
export const useShowSecret = (): Show => useContext(Shows);

/** Escape does not close it, and the browser asks before the tab is closed or loads another address. */
function SecretDialog({ shown, onClose }: { shown: Secret; onClose: () => void }) {
  const { title, text, secret, what } = shown;
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, []);
  return (
    <Dialog title={title} onClose={onClose} busy>
      <div className="stack">
        <p>{text}</p>
        <code className="secret" data-testid="secret">
          {secret}
        </code>
      </div>
      <div className="dialog-actions">
        <CopyButton text={secret} what={what} label="Copy" />
        <Button kind="primary" onClick={onClose}>
          I have it
        </Button>
      </div>
    </Dialog>
  );
}
