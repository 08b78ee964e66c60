import { createContext, type ReactNode, useCallback, useContext, useRef, useState } from 'react';

const SHOWN_MS = 6_000;

type Say = (message: string) => void;

const Toasts = createContext<Say>(() => undefined);

/** The result of an action, shown for some seconds and read aloud. */
export function ToastProvider({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<readonly { id: number; message: string }[]>([]);
  const next = useRef(0);
  const say = useCallback<Say>((message) => {
    const id = (next.current += 1);
    setShown((before) => [...before.slice(-2), { id, message }]);
    setTimeout(() => setShown((before) => before.filter((toast) => toast.id !== id)), SHOWN_MS);
  }, []);
  return (
    <Toasts.Provider value={say}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {shown.map(({ id, message }) => (
          <div key={id} className="toast">
            {message}
          </div>
        ))}
      </div>
    </Toasts.Provider>
  );
}

export const useToast = (): Say => useContext(Toasts);
