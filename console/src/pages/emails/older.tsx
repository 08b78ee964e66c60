import { get, type Query } from '../../api/client';
import { Button } from '../../parts/button';
import { Pager } from '../../parts/list';
import { Empty } from '../../parts/states';
import type { EmailList } from './email-rows';

/** The service looks through 50,000 emails at a time: so many times for one request of the user. */
const SPANS = 10;

/** Looks through emails that are older than the newest 50,000, until it finds some. @param cursor where the list before has ended */
export async function readOlder(query: Query, cursor: string, signal: AbortSignal): Promise<EmailList> {
  let at: string | undefined = cursor;
  let list: EmailList | undefined;
  for (let span = 0; span < SPANS && at !== undefined && !list?.data.length; span += 1) {
    list = await get<EmailList>('/v1/emails', { ...query, page: undefined, cursor: at }, signal);
    at = list.pagination.nextCursor;
  }
  return list as EmailList;
}

interface Turns {
  readonly list: EmailList;
  readonly turn: (cursor: string) => void;
}

/** Where a search goes on behind the newest 50,000 emails; undefined where it has seen all. */
export function olderThan({ pagination: { partial, nextCursor } }: EmailList): string | undefined {
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
export function NoneYet({ list, turn, isOlder }: Turns & { readonly isOlder: boolean }) {
  const next = list.pagination.nextCursor;
  return (
    <Empty
      icon="search"
      title={
        next === undefined
          ? 'No older email is like that'
          : isOlder
            ? 'Nothing is found yet'
            : 'None of the newest 50,000 emails is like that'
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
      Addresses are matched as a whole, in to, cc and bcc; subjects in part. A shorter time, or a domain, is searched
      sooner.
    </Empty>
  );
}
