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
import { visible } from './format';

const SHOWN_MS = 6_000;

type Say = (message: string) => void;

interface Toast {
  readonly id: number;
  readonly message: string;
  /** Where it is shown, as long as that is there: once its dialog has closed, on the page. */
  readonly place: string | undefined;
}

interface Shown {
  readonly toasts: readonly Toast[];
  /** Where toasts may be shown: the page, and open dialogs. */
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
  const top = useRef<string>(undefined);
  useEffect(() => {
    top.current = places.at(-1);
  }, [places]);
  const say = useCallback<Say>((message) => {
    const id = (next.current += 1);
    const place = top.current;
    setToasts((before) => [...before.slice(-2), { id, message, place }]);
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
      {toasts
        .filter(({ place }) => (place !== undefined && places.includes(place) ? place : places[0]) === id)
        .map((toast) => (
          <div key={toast.id} className="toast">
            {visible(toast.message)}
          </div>
        ))}
    </div>
  );
}

export const useToast = (): Say => useContext(Toasts);
