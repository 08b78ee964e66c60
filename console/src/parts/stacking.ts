import { useLayoutEffect, useRef } from 'react';

/** Below it rows are cards, however well the columns would fit: words in them would be broken. */
const NARROW = 608;
/** So that a table does not change to and fro with the length of a time in it. */
const SPARE = 24;

/** Makes cards of the rows of a table that is wider than the box around it. @returns the box's ref */
export function useStacking() {
  const box = useRef<HTMLDivElement>(null);
  /** The width that the columns need, of a table that has become cards. */
  const needed = useRef(0);
  // After each change of the rows too.
  useLayoutEffect(() => {
    const element = box.current;
    if (element) fit(element, needed);
  });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    let frame = 0;
    // In the next frame: a change of the height within an observation is an error of the page.
    const observer = new ResizeObserver(() => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => fit(element, needed));
    });
    observer.observe(element);
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
    };
  }, []);
  return box;
}

/** Columns are not tried while there are cards: the page would become shorter, and what is read would move. */
function fit(element: HTMLElement, needed: { current: number }): void {
  const width = element.clientWidth;
  if (width === 0) return;
  if (needed.current > 0 && width >= needed.current + SPARE) {
    needed.current = 0;
    element.classList.remove('stacked');
  }
  if (needed.current > 0) return;
  if (width >= NARROW && element.scrollWidth <= width) return;
  needed.current = Math.max(NARROW - SPARE, element.scrollWidth);
  element.classList.add('stacked');
}
