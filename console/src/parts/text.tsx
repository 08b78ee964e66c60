import { type ComponentProps, Fragment, useSyncExternalStore } from 'react';
import { now } from '../api/service-clock';
import { fromNow, moment, partsOf, visible, words } from './format';
import { type Tone, toneOf } from './tones';

const TICK_MS = 5_000;
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** One timer for all times on the page. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => listeners.forEach((each) => each()), TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time, of which only whole steps count: what uses it is drawn again when the next one has begun. */
export function useNow(stepMs: number): number {
  return useSyncExternalStore(subscribe, () => Math.floor(now() / stepMs) * stepMs);
}

/** How long ago, or until then; the moment itself as a tool tip and for programs. */
export function Time({ at }: { at: string }) {
  // What is less than a tick away is “just now”.
  const now = useNow(TICK_MS);
  return (
    <time dateTime={at} title={`${moment(at)} · ${at}`} className="nowrap">
      {fromNow(at, now)}
    </time>
  );
}

/** The moment itself. */
export function Moment({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at}>
      {moment(at)}
    </time>
  );
}

/** A state: colour and words, never colour alone. */
export function Badge({
  status,
  tone = toneOf(status),
  label = words(status),
}: {
  status: string;
  tone?: Tone;
  label?: string;
}) {
  return <span className={`badge ${tone}`}>{label}</span>;
}

/** The text, which may be broken between the parts of an address. */
function Parted({ text }: { text: string }) {
  return partsOf(text).map((part, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}

/** What others have written: its direction does not change that of the words around it, and its controls are seen. */
export function Foreign({ children, ...rest }: ComponentProps<'bdi'>) {
  return <bdi {...rest}>{typeof children === 'string' ? <Parted text={visible(children)} /> : children}</bdi>;
}
