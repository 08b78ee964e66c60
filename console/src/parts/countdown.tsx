import { useEffect, useState } from 'react';
import { span } from './format';

const SECOND_MS = 1_000;

/**
 * How long is left until a moment, each second. Screen readers hear it once, as it was at first: it stands in an alert, of which
 * they read every change.
 * @param untilMs since 1970
 */
export function Countdown({ untilMs }: { untilMs: number }) {
  const [now, setNow] = useState(Date.now);
  const [first] = useState(untilMs - now);
  const isOver = now >= untilMs;
  useEffect(() => {
    if (isOver) return undefined;
    const timer = setInterval(() => setNow(Date.now()), SECOND_MS);
    return () => clearInterval(timer);
  }, [isOver]);
  return (
    <p>
      <span className="visually-hidden">{sentence(first)}</span>
      <span aria-hidden="true">{sentence(untilMs - now)}</span>
    </p>
  );
}

const sentence = (leftMs: number): string =>
  leftMs > 0 ? `Try again in ${span(Math.ceil(leftMs / SECOND_MS))}.` : 'You can try again now.';
