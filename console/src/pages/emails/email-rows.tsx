import { type MouseEvent, type ReactNode, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import type { Email, Pagination } from '../../api/types';
import { Button } from '../../parts/button';
import { plural } from '../../parts/format';
import { useHeldRows } from '../../parts/held-rows';
import { useHotkeys } from '../../parts/hotkeys';
import { useStacking } from '../../parts/stacking';
import { Badge, Foreign, Time } from '../../parts/text';

export interface EmailList {
  readonly data: readonly Email[];
  readonly pagination: Pagination;
}

const keyOf = ({ id }: Email): string => id;

interface EmailRowsProps {
  /** The filters and the page: with others, no row is chosen. */
  readonly of: string;
  readonly list: EmailList;
  /** They are of the filter before: those of the present one are on their way. */
  readonly isOld: boolean;
  /** What is new shows by itself. */
  readonly isLive: boolean;
  readonly pager: ReactNode;
}

/**
 * The rows, with a row that the keyboard has chosen. Other filters do not make them anew: a click on a row leaves the field of a
 * filter, which applies it, and has to find the row where it began.
 */
export function EmailRows({ of, list, isOld, isLive, pager }: EmailRowsProps) {
  const [, navigate] = useLocation();
  const [selected, setSelected] = useState<string>();
  const [known, setKnown] = useState(of);
  if (known !== of) {
    setKnown(of);
    setSelected(undefined);
  }
  const ref = useStacking();
  const isChosen = selected !== undefined;
  const { shown, fresh, showAll, box } = useHeldRows({ rows: list.data, keyOf, isOld, isChosen });
  const table = useRef<HTMLTableElement>(null);
  const showFresh = () => {
    showAll();
    // The button goes, and with it the focus.
    table.current?.focus();
  };
  const at = shown.findIndex(({ row }) => row.id === selected);
  const state = isLive ? 'Live' : 'Not live';
  const move = (step: number) => {
    const next = shown[Math.min(shown.length - 1, Math.max(0, at + step))]?.row;
    setSelected(next?.id);
    const row = next && document.getElementById(`row-${next.id}`);
    row?.scrollIntoView({ block: 'nearest' });
    // Screen readers say what has the focus.
    row?.querySelector('a')?.focus({ preventScroll: true });
  };
  useHotkeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: (event) => {
      const isOnControl = event.target instanceof HTMLElement && event.target.closest('a, button, summary') !== null;
      if (selected !== undefined && !isOnControl) navigate(`/emails/${selected}`);
    },
  });
  return (
    <>
      <div className="live" role="status">
        {fresh > 0 ? (
          <Button small onClick={showFresh}>
            Show {plural(fresh, 'new email')}
          </Button>
        ) : (
          state
        )}
      </div>
      <div ref={ref} className="table-wrap" {...box}>
        <table ref={table} tabIndex={-1} className="stacking">
          <caption className="visually-hidden">Emails, newest first</caption>
          <thead>
            <tr>
              <th scope="col">Status</th>
              <th scope="col">To</th>
              <th scope="col">Subject</th>
              <th scope="col">From</th>
              <th scope="col">Accepted</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ row: email, isGone }) => (
              <EmailRow
                key={email.id}
                email={email}
                isGone={isGone}
                isSelected={email.id === selected}
                open={() => navigate(`/emails/${email.id}`)}
              />
            ))}
          </tbody>
        </table>
      </div>
      {pager}
    </>
  );
}

/** Whether a click asks for another tab or window. */
const isForAnother = (event: { metaKey: boolean; ctrlKey: boolean; shiftKey: boolean }): boolean =>
  event.metaKey || event.ctrlKey || event.shiftKey;

interface EmailRowProps {
  readonly email: Email;
  readonly isGone: boolean;
  readonly isSelected: boolean;
  readonly open: () => void;
}

function EmailRow({ email, isGone, isSelected, open }: EmailRowProps) {
  const { id, status, toEmails, ccEmails = [], bccEmails = [], subject, fromEmail, createdAt, tags } = email;
  const others = toEmails.length + ccEmails.length + bccEmails.length - 1;
  const first = [...toEmails, ...ccEmails, ...bccEmails][0] ?? '';
  const onClick = (event: MouseEvent) => {
    if (event.target instanceof HTMLElement && event.target.closest('a')) return;
    if (isForAnother(event)) window.open(`/console/emails/${id}`, '_blank', 'noopener');
    else if (window.getSelection()?.toString() === '') open();
  };
  return (
    <tr id={`row-${id}`} inert={isGone} className={isSelected ? 'linked selected' : 'linked'} onClick={onClick}>
      <td>
        <Badge status={status} />
      </td>
      <td className="wide" data-label="To">
        <span className="cut">
          <Foreign>{first}</Foreign>
          {others > 0 && <span className="soft"> +{others}</span>}
        </span>
      </td>
      <td className="wide">
        <RowLink id={id} subject={subject} />
        {tags.length > 0 && <Foreign className="hint cut">{tags.join(', ')}</Foreign>}
      </td>
      <td className="wide soft" data-label="From">
        <span className="cut">
          <Foreign>{fromEmail}</Foreign>
        </span>
      </td>
      <td className="soft">
        <Time at={createdAt} />
      </td>
    </tr>
  );
}

function RowLink({ id, subject }: { id: string; subject: string }) {
  const [, navigate] = useLocation();
  const go = (event: MouseEvent) => {
    if (isForAnother(event)) return;
    event.preventDefault();
    navigate(`/emails/${id}`);
  };
  return (
    <a className="cut" href={`/console/emails/${id}`} onClick={go}>
      <Foreign>{subject || '(no subject)'}</Foreign>
    </a>
  );
}
