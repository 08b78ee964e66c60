import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import { slowing } from '../../api/query-client';
import { useMay } from '../../api/session';
import { now } from '../../api/service-clock';
import { Button, ButtonLink } from '../../parts/button';
import { useFilters } from '../../parts/filters';
import { Card, Page } from '../../parts/page';
import { Empty, Loaded, Requires } from '../../parts/states';
import { EmailFilters, type Filters, NAMES, UUID } from './email-filters';
import { Suppressed } from '../../parts/suppressed';
import { Beyond, PagesPager } from '../../parts/list';
import { NoneYet, OlderPager, olderThan, readOlder } from '../../parts/older';
import { EmailRows, type EmailList } from './email-rows';

const SPANS: Readonly<Record<string, number>> = { '1h': 3_600, '24h': 86_400, '7d': 604_800, '30d': 2_592_000 };
/** Filters that say where in the list. */
const PLACES: ReadonlySet<string> = new Set(['page', 'older']);
const SOONER =
  'Addresses must match in full, in to, cc and bcc. Any part of a subject matches. A shorter time, or a domain, is searched sooner.';
const LIMIT = 50;
const LIVE = slowing(2_000, 10_000);

export default function Emails() {
  return (
    <Requires scope="email:read">
      <EmailsPage />
    </Requires>
  );
}

function EmailsPage() {
  const [filters, change] = useFilters(NAMES);
  const may = useMay();
  const page = Math.max(1, Number(filters.page) || 1);
  const { older } = filters;
  const isLive = page === 1 && older === '';
  const query = useQuery({
    queryKey: ['emails', filters],
    queryFn: ({ signal }) => {
      const wanted = toQuery(filters, page);
      return older === ''
        ? get<EmailList>('/v1/emails', wanted, signal)
        : readOlder<EmailList>('/v1/emails', { ...wanted, cursor: older }, signal);
    },
    placeholderData: keepPreviousData,
    refetchInterval: isLive && LIVE,
  });
  const turn = (to: number) => change({ page: to === 1 ? '' : String(to) });
  const search = (cursor: string) => change({ older: cursor, page: '' });
  const pagerOf = (list: EmailList) => {
    if (older !== '') return <OlderPager list={list} turn={search} />;
    const next = olderThan(list);
    const goOn = next === undefined ? undefined : () => search(next);
    return <PagesPager page={page} pagination={list.pagination} what="email" turn={turn} goOn={goOn} />;
  };
  const isFiltered = NAMES.some((name) => !PLACES.has(name) && filters[name] !== '');
  return (
    <Page
      title="Emails"
      lead="All emails, newest first. The list updates automatically."
      actions={
        may('email:send') && (
          <ButtonLink to="/send" kind="primary" icon="send">
            Send a test mail
          </ButtonLink>
        )
      }
    >
      <EmailFilters filters={filters} change={(changes) => change({ page: '', older: '', ...changes })} />
      {ADDRESS.test(filters.q) && <Suppressed email={filters.q} isNotice />}
      <Card flush>
        <Loaded query={query} lines={10}>
          {(list) =>
            list.data.length > 0 ? (
              <EmailRows
                of={JSON.stringify(filters)}
                list={list}
                isOld={query.isPlaceholderData}
                isLive={isLive && !query.isError && !query.isPaused}
                pager={pagerOf(list)}
              />
            ) : older !== '' || (list.pagination.total === 0 && olderThan(list) !== undefined) ? (
              <NoneYet list={list} turn={search} isOlder={older !== ''} hint={SOONER} />
            ) : list.pagination.total > 0 ? (
              <Beyond pager={pagerOf(list)} />
            ) : (
              <NoEmails
                isFiltered={isFiltered}
                clear={() => change(Object.fromEntries(NAMES.map((name) => [name, ''])))}
              />
            )
          }
        </Loaded>
      </Card>
      <p className="keys-hint">
        <span>
          <kbd>j</kbd> <kbd>k</kbd> down, up
        </span>
        <span>
          <kbd>Enter</kbd> open
        </span>
        <span>
          <kbd>/</kbd> search
        </span>
        <span>
          <kbd>Esc</kbd> clear
        </span>
      </p>
    </Page>
  );
}

/** A whole one; the service refuses a part of an address. */
const ADDRESS = /^[^@\s]+@[^@\s]+\.[^@\s]+$/;

function toQuery({ q, status, domain, tag, span }: Filters, page: number) {
  const seconds = Object.hasOwn(SPANS, span) ? SPANS[span] : undefined;
  return {
    limit: LIMIT,
    page,
    status,
    tag,
    domain_id: domain,
    // An id opens its email at once.
    ...(ADDRESS.test(q) ? { recipient: q } : { subject: UUID.test(q) ? '' : q }),
    // To the minute, so that the query keeps its name for a while.
    from: seconds === undefined ? '' : new Date(Math.floor(now() / 60_000) * 60_000 - seconds * 1_000).toISOString(),
  };
}

function NoEmails({ isFiltered, clear }: { isFiltered: boolean; clear: () => void }) {
  const may = useMay();
  if (isFiltered) {
    return (
      <Empty icon="search" title="No matching emails" action={<Button onClick={clear}>Clear the filters</Button>}>
        Addresses must match in full, in to, cc and bcc. Any part of a subject matches.
      </Empty>
    );
  }
  return (
    <Empty
      icon="emails"
      title="No emails yet"
      action={
        may('email:send') && (
          <ButtonLink to="/send" kind="primary" icon="send">
            Send a test mail
          </ButtonLink>
        )
      }
    >
      Mail that your programs send appears here within seconds.
    </Empty>
  );
}
