import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react';

const SHOWN_MS = 6_000;

type Say = (message: string) => void;

interface Shown {
  readonly toasts: readonly { readonly id: number; readonly message: string }[];
  /** The places where they may be shown; the last one does. */
  readonly places: readonly string[];
  /** Adds a place. Returns what takes it away again. */
  readonly join: (place: string) => () => void;
}

const Toasts = createContext<Say>(() => undefined);
const ShownToasts = createContext<Shown>({ toasts: [], places: [], join: () => () => undefined });

/** The result of an action, shown for some seconds and read aloud. */
export function ToastProvider({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<Shown['toasts']>([]);
  const [places, setPlaces] = useState<readonly string[]>([]);
  const next = useRef(0);
  const say = useCallback<Say>((message) => {
    const id = (next.current += 1);
    setToasts((before) => [...before.slice(-2), { id, message }]);
    setTimeout(() => setToasts((before) => before.filter((toast) => toast.id !== id)), SHOWN_MS);
  }, []);
  const join = useCallback((place: string) => {
    setPlaces((before) => [...before, place]);
    return () => setPlaces((before) => before.filter((each) => each !== place));
  }, []);
  const shown = useMemo(() => ({ toasts, places, join }), [toasts, places, join]);
  return (
    <Toasts.Provider value={say}>
      <ShownToasts.Provider value={shown}>
        {children}
        <ToastPlace />
      </ShownToasts.Provider>
    </Toasts.Provider>
  );
}

/** Where toasts are shown. A modal dialog has one of its own: all that is outside of it is covered, and not read aloud. */
export function ToastPlace() {
  const { toasts, places, join } = useContext(ShownToasts);
  const id = useId();
  useEffect(() => join(id), [join, id]);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {places.at(-1) === id &&
        toasts.map((toast) => (
          <div key={toast.id} className="toast">
            {toast.message}
          </div>
        ))}
    </div>
  );
}

export const useToast = (): Say => useContext(Toasts);
