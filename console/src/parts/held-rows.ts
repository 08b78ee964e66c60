import { type FocusEvent, type HTMLAttributes, useState } from 'react';
import { useSearch } from 'wouter';

interface Wanted<Row> {
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** The rows are of the filter before: those of the present one are on their way. */
  readonly isOld?: boolean | undefined;
  /** Holds them without the pointer too. */
  readonly isChosen?: boolean;
}

interface HeldRow<Row> {
  readonly row: Row;
  /** The list has it no more. */
  readonly isGone: boolean;
}

interface HeldRows<Row> {
  readonly shown: readonly HeldRow<Row>[];
  /** How many new rows wait to be shown. */
  readonly fresh: number;
  readonly showAll: () => void;
  /** For the box around the rows. */
  readonly box: Pick<HTMLAttributes<HTMLElement>, 'onPointerMove' | 'onPointerLeave' | 'onFocus' | 'onBlur'>;
}

interface Held<Row> {
  readonly rows: readonly Row[];
  /** The filters, which are in the address. */
  readonly of: string;
}

/**
 * While the pointer is over the rows, or the keyboard's focus is in one, they keep their positions, so that a click meets the row it is
 * meant for. Their contents still change. New rows wait until then, or until they are asked for.
 */
export function useHeldRows<Row>({ rows, keyOf, isOld = false, isChosen = false }: Wanted<Row>): HeldRows<Row> {
  const of = useSearch();
  const [isPointed, setPointed] = useState(false);
  const [isFocused, setFocused] = useState(false);
  const [held, setHeld] = useState<Held<Row>>();
  const isHeld = !isOld && (isPointed || isFocused || isChosen);
  const news = new Map(rows.map((row) => [keyOf(row), row]));
  // With other filters, or once none is there any more, it is another list.
  const isSame = held !== undefined && held.of === of && held.rows.some((row) => news.has(keyOf(row)));
  if (isHeld && !isSame && rows.length > 0) setHeld({ rows, of });
  if (!isHeld && held !== undefined) setHeld(undefined);
  const showAll = () => {
    setHeld({ rows, of });
    setFocused(false);
  };
  const box = {
    // A pointer that only rests where a dialog was is not about to choose a row.
    onPointerMove: () => setPointed(true),
    onPointerLeave: () => setPointed(false),
    // What a click has put the focus on is left with the pointer.
    onFocus: ({ target }: FocusEvent) => setFocused(target.matches(':focus-visible')),
    onBlur: ({ currentTarget, relatedTarget }: FocusEvent) => {
      if (!currentTarget.contains(relatedTarget)) setFocused(false);
    },
  };
  const order = isHeld && isSame ? held.rows : rows;
  const known = new Set(order.map(keyOf));
  const fresh = rows.filter((row) => !known.has(keyOf(row))).length;
  const last = order.findLastIndex((row) => news.has(keyOf(row)));
  const shown = order.map((row, index) => ({
    row: news.get(keyOf(row)) ?? row,
    // Those behind the last that is still there may only have been pushed off the page by new ones.
    isGone: !news.has(keyOf(row)) && (index < last || fresh === 0),
  }));
  return { shown, fresh, showAll, box };
}
