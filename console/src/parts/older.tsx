import { get, type Query } from '../api/client';
import type { Pagination } from '../api/types';
import { Button } from './button';
import { Pager } from './list';
import { Empty } from './states';

/** A page of emails, sent or received. */
interface Listed {
  readonly data: readonly unknown[];
  readonly pagination: Pagination;
}

/** The service looks through 50,000 emails at a time: so many times for one request of the user. */
const SPANS = 10;

/** Looks through emails that are older than the newest 50,000, until it finds some. @param cursor where the list before has ended */
export async function readOlder<List extends Listed>(
  path: string,
  { cursor, ...query }: Query & { readonly cursor: string },
  signal: AbortSignal,
): Promise<List> {
  let at: string | undefined = cursor;
  let list: List | undefined;
  for (let span = 0; span < SPANS && at !== undefined && !list?.data.length; span += 1) {
    list = await get<List>(path, { ...query, page: undefined, cursor: at }, signal);
    at = list.pagination.nextCursor;
  }
  return list as List;
}

interface Turns {
  readonly list: Listed;
  readonly turn: (cursor: string) => void;
}

/** Where a search goes on behind the newest 50,000 emails; undefined where it has seen all. */
export function olderThan({ pagination: { partial, nextCursor } }: Listed): string | undefined {
  return partial ? nextCursor : undefined;
}

/** Between what a search has found among older emails. */
export function OlderPager({ list, turn }: Turns) {
  const next = list.pagination.nextCursor;
  return (
    <Pager
      said="Older emails"
      backName="Newest"
      back={() => turn('')}
      on={next === undefined ? undefined : () => turn(next)}
    />
  );
}

/** A search that has found nothing so far. */
export function NoneYet({ list, turn, isOlder, hint }: Turns & { readonly isOlder: boolean; readonly hint: string }) {
  const next = list.pagination.nextCursor;
  return (
    <Empty
      icon="search"
      title={
        next === undefined
          ? 'No older matching emails'
          : isOlder
            ? 'Nothing found yet'
            : 'No match among the newest 50,000 emails'
      }
      action={
        <div className="row">
          {next !== undefined && (
            <Button kind="primary" onClick={() => turn(next)}>
              Search older emails
            </Button>
          )}
          {isOlder && <Button onClick={() => turn('')}>Back to the newest</Button>}
        </div>
      }
    >
      {hint}
    </Empty>
  );
}
