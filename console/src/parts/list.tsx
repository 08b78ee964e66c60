import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useRef, useState } from 'react';
import { useSearch } from 'wouter';
import type { Pagination } from '../api/types';
import { Button } from './button';
import { count, plural } from './format';
import { useHeldRows } from './held-rows';
import { Card } from './page';
import { useStacking } from './stacking';
import { Empty, Loaded } from './states';
import type { IconName } from './icons';

export interface Column<Row> {
  readonly name: string;
  /** The name is only read aloud; columns of buttons do not show it. */
  readonly isHidden?: boolean;
  /** Classes of its cells: `number`, `soft`, `wide`, `break`. */
  readonly look?: string;
  /** Without its name where rows are cards: the value is clear by itself. */
  readonly isBare?: boolean;
  readonly cell: (row: Row) => ReactNode;
}

export interface TableProps<Row> {
  /** Name of the rows, read aloud. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** They are of the filter before. */
  readonly isOld?: boolean;
}

/** Rows, which become cards where their columns have no room. What somebody points at stays where it is. */
export function Table<Row>({ caption, columns, rows, keyOf, isOld }: TableProps<Row>) {
  const ref = useStacking();
  const { shown, fresh, showAll, box } = useHeldRows({ rows, keyOf, isOld });
  const table = useRef<HTMLTableElement>(null);
  const showFresh = () => {
    showAll();
    // The button goes, and with it the focus.
    table.current?.focus();
  };
  return (
    <div ref={ref} className="table-wrap" {...box}>
      <div className="fresh" role="status">
        {fresh > 0 && (
          <Button small onClick={showFresh}>
            Show {plural(fresh, 'new row')}
          </Button>
        )}
      </div>
      <table ref={table} tabIndex={-1} className="stacking">
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ name, isHidden, look }) => (
              <th key={name} scope="col" className={look?.includes('number') ? 'number' : undefined}>
                {isHidden ? <span className="visually-hidden">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map(({ row, isGone }) => (
            <tr key={keyOf(row)} inert={isGone}>
              {columns.map(({ name, isHidden, isBare, look, cell }, index) => (
                <td key={name} className={look} data-label={index === 0 || isHidden || isBare ? undefined : name}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface ListCardProps<Data, Row> extends Omit<TableProps<Row>, 'rows' | 'isOld'> {
  readonly query: UseQueryResult<Data>;
  readonly rowsOf: (data: Data) => readonly Row[];
  /** Shown where there is no row. */
  readonly empty: {
    readonly icon: IconName;
    readonly title: string;
    readonly text?: ReactNode;
    readonly action?: ReactNode;
  };
  /** Instead of the rows, where there are none and a search has not seen all. */
  readonly noneYet?: (data: Data) => ReactNode;
  /** Below the rows: their number, and links to other pages. */
  readonly pager?: (data: Data) => ReactNode;
  readonly title?: ReactNode;
  readonly actions?: ReactNode;
  readonly lines?: number;
}

/** A list with all its states: on its way, refused, empty, there. */
export function ListCard<Data, Row>(props: ListCardProps<Data, Row>) {
  const { query, rowsOf, empty, noneYet, pager, title, actions, lines = 6, ...table } = props;
  return (
    <Card flush {...(title !== undefined && { title })} {...(actions !== undefined && { actions })}>
      <Loaded query={query} lines={lines}>
        {(data) => {
          const rows = rowsOf(data);
          const instead = rows.length === 0 && noneYet?.(data);
          if (instead) return instead;
          if (rows.length === 0 && pager && totalOf(data) > 0) return <Beyond pager={pager(data)} />;
          if (rows.length === 0) {
            return (
              <Empty icon={empty.icon} title={empty.title} action={empty.action}>
                {empty.text}
              </Empty>
            );
          }
          return (
            <>
              <Table {...table} rows={rows} isOld={query.isPlaceholderData} />
              {pager?.(data)}
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}

/** Of all pages of a list, as far as its response says. */
function totalOf(response: unknown): number {
  const { pagination, data, total } = response as Record<'pagination' | 'data', { total?: number } | undefined> & {
    total?: number;
  };
  return pagination?.total ?? data?.total ?? total ?? 0;
}

/** A page of a list that is shorter than its address says. */
export function Beyond({ pager }: { pager: ReactNode }) {
  return (
    <>
      <Empty icon="search" title="The list ends before this page" />
      {pager}
    </>
  );
}

interface PagerProps {
  readonly said: ReactNode;
  /** Undefined where there is none. */
  readonly back: (() => void) | undefined;
  readonly backName?: string;
  readonly on: (() => void) | undefined;
}

/** Newer and older: every list has the newest first, or is by name. */
export function Pager({ said, back, backName = 'Previous', on }: PagerProps) {
  return (
    <nav className="pager" aria-label="Pages of the list">
      <span>{said}</span>
      {(back ?? on) && (
        <span className="row">
          <Button small spent={!back} onClick={back}>
            {backName}
          </Button>
          <Button small spent={!on} onClick={on}>
            Next
          </Button>
        </span>
      )}
    </nav>
  );
}

interface PagesProps {
  /** Counted from 1. */
  readonly page: number;
  readonly pagination: Pick<Pagination, 'total' | 'totalPages' | 'partial'>;
  /** `email`: its plural has an s. */
  readonly what: string;
  readonly turn: (page: number) => void;
  /** What comes after the last page, where a search has not seen all. */
  readonly goOn?: (() => void) | undefined;
}

/** For a list in pages: the number of rows, and the link to the next page. */
export function PagesPager({ page, pagination: { total, totalPages, partial }, what, turn, goOn }: PagesProps) {
  return (
    <Pager
      said={
        <>
          {plural(total, what)}
          {partial && ' among the newest 50,000'}
          {totalPages > 1 && ` · page ${count(page)} of ${count(totalPages)}`}
        </>
      }
      back={page > 1 ? () => turn(Math.max(1, Math.min(page - 1, totalPages))) : undefined}
      on={page < totalPages ? () => turn(page + 1) : goOn}
    />
  );
}

interface OffsetProps {
  readonly offset: number;
  /** How many rows are shown. */
  readonly shown: number;
  readonly total: number;
  readonly limit: number;
  readonly turn: (offset: number) => void;
}

/** Of a list that is read from an offset on. */
export function OffsetPager({ offset, shown, total, limit, turn }: OffsetProps) {
  const lastPage = Math.floor((total - 1) / limit) * limit;
  return (
    <Pager
      said={shown === 0 ? `${count(total)} in all` : `${count(offset + 1)}–${count(offset + shown)} of ${count(total)}`}
      back={offset > 0 ? () => turn(Math.max(0, Math.min(offset - limit, lastPage))) : undefined}
      on={offset + shown < total ? () => turn(offset + limit) : undefined}
    />
  );
}

interface Endless {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => Promise<unknown>;
}

interface MoreProps {
  readonly query: Endless;
  /** Where the rows end, and the list may not. */
  readonly end?: string | undefined;
}

/** The rest of a list that has no pages. Its button stays once it has shown everything: it has the focus of who has pressed it. */
export function More({ query: { hasNextPage, isFetchingNextPage, fetchNextPage }, end }: MoreProps) {
  const of = useSearch();
  const [usedFor, setUsedFor] = useState<string>();
  const isUsed = usedFor === of;
  if (!hasNextPage && !isUsed && end === undefined) return null;
  const showMore = () => {
    setUsedFor(of);
    void fetchNextPage();
  };
  return (
    <div className="pager">
      {(hasNextPage || isUsed) && (
        <Button small busy={isFetchingNextPage} spent={!hasNextPage} onClick={showMore}>
          Show more
        </Button>
      )}
      <span role="status">{!hasNextPage && (end ?? 'The list ends here')}</span>
    </div>
  );
}
