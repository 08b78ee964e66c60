import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { get } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, Domain, Email, Pagination } from '../../api/types';
import { Button, ButtonLink } from '../../parts/button';
import { SelectField, TextField } from '../../parts/field';
import { useFilters } from '../../parts/filters';
import { count } from '../../parts/format';
import { useHotkeys } from '../../parts/hotkeys';
import { Card, Page } from '../../parts/page';
import { Empty, Loaded, Requires } from '../../parts/states';
import { Badge, Time } from '../../parts/text';

interface EmailList {
  readonly data: readonly Email[];
  readonly pagination: Pagination;
}

const STATUSES = ['scheduled', 'queued', 'sending', 'sent', 'delivered', 'bounced', 'failed'];
const SPANS: Readonly<Record<string, number>> = { '1h': 3_600, '24h': 86_400, '7d': 604_800, '30d': 2_592_000 };
const LIMIT = 50;
const LIVE_MS = 4_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const NAMES = ['q', 'status', 'domain', 'tag', 'span', 'page'] as const;

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
  const query = useQuery({
    queryKey: ['emails', filters],
    queryFn: ({ signal }) => get<EmailList>('/v1/emails', toQuery(filters, page), signal),
    placeholderData: keepPreviousData,
    refetchInterval: page === 1 ? LIVE_MS : false,
  });
  const isFiltered = NAMES.some((name) => name !== 'page' && filters[name] !== '');
  return (
    <Page
      title="Emails"
      lead="Every email, the newest first. The list keeps itself up to date."
      actions={
        may('email:send') && (
          <ButtonLink to="/send" kind="primary" icon="send">
            Send a test mail
          </ButtonLink>
        )
      }
    >
      <Filters filters={filters} change={change} />
      <Card flush>
        <Loaded query={query} lines={10}>
          {(list) =>
            list.data.length === 0 ? (
              <NoEmails
                isFiltered={isFiltered}
                clear={() => change(Object.fromEntries(NAMES.map((name) => [name, ''])))}
              />
            ) : (
              <List list={list} page={page} turn={(to) => change({ page: to === 1 ? '' : String(to) })} />
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

type Values = Record<(typeof NAMES)[number], string>;

function toQuery({ q, status, domain, tag, span }: Values, page: number) {
  const seconds = SPANS[span];
  return {
    limit: LIMIT,
    page,
    status,
    tag,
    domain_id: domain,
    // An address; an id opens its email at once.
    recipient: UUID.test(q) ? '' : q,
    // To the minute, so that the list is asked for under one name for a while.
    from:
      seconds === undefined ? '' : new Date(Math.floor(Date.now() / 60_000) * 60_000 - seconds * 1_000).toISOString(),
  };
}

function Filters({ filters, change }: { filters: Values; change: (changes: Partial<Values>) => void }) {
  const [, navigate] = useLocation();
  const [text, setText] = useState(filters.q);
  const may = useMay();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => setText(filters.q), [filters.q]);
  const domains = useQuery({
    queryKey: ['domains'],
    queryFn: () => get<Data<Domain[]>>('/v1/domains'),
    enabled: may('domain:read'),
    staleTime: 60_000,
  });
  const search = form.current?.querySelector('input');
  useHotkeys({
    '/': (event) => {
      event.preventDefault();
      form.current?.querySelector('input')?.focus();
    },
    Escape: () => {
      if (document.activeElement === search || filters.q !== '') change({ q: '', page: '' });
      search?.blur();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const wanted = text.trim();
    if (UUID.test(wanted)) navigate(`/emails/${wanted.toLowerCase()}`);
    else change({ q: wanted, page: '' });
  };
  const select = (name: keyof Values) => ({
    value: filters[name],
    onChange: ({ target }: { target: { value: string } }) => change({ [name]: target.value, page: '' }),
  });
  return (
    <form ref={form} className="filters" role="search" onSubmit={submit}>
      <TextField
        label="Recipient or id"
        type="search"
        value={text}
        placeholder="ada@example.com"
        onChange={(event) => setText(event.target.value)}
      />
      <SelectField
        label="Status"
        {...select('status')}
        options={[{ value: '', label: 'Any' }, ...STATUSES.map((value) => ({ value, label: value }))]}
      />
      {domains.data && (
        <SelectField
          label="Domain"
          {...select('domain')}
          options={[
            { value: '', label: 'Any' },
            ...domains.data.data.map(({ id, domain }) => ({ value: id, label: domain })),
          ]}
        />
      )}
      <SelectField
        label="Time"
        {...select('span')}
        options={[
          { value: '', label: 'Any' },
          { value: '1h', label: 'Last hour' },
          { value: '24h', label: 'Last 24 hours' },
          { value: '7d', label: 'Last 7 days' },
          { value: '30d', label: 'Last 30 days' },
        ]}
      />
      {/* With two text fields and no button, Enter would not submit. */}
      <button type="submit" className="visually-hidden" tabIndex={-1}>
        Search
      </button>
      <TextField
        key={filters.tag}
        label="Tag"
        defaultValue={filters.tag}
        onBlur={(event) => change({ tag: event.target.value.trim(), page: '' })}
      />
    </form>
  );
}

function NoEmails({ isFiltered, clear }: { isFiltered: boolean; clear: () => void }) {
  const may = useMay();
  if (isFiltered) {
    return (
      <Empty icon="search" title="No email is like that" action={<Button onClick={clear}>Clear the filters</Button>}>
        Addresses are matched as a whole, in to, cc and bcc.
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
      What your programs send stands here within a second.
    </Empty>
  );
}

function List({ list, page, turn }: { list: EmailList; page: number; turn: (page: number) => void }) {
  const [, navigate] = useLocation();
  const [selected, setSelected] = useState<string>();
  const { data, pagination } = list;
  const at = data.findIndex(({ id }) => id === selected);
  const move = (step: number) => {
    const next = data[Math.min(data.length - 1, Math.max(0, at + step))];
    setSelected(next?.id);
    if (next) document.getElementById(`row-${next.id}`)?.scrollIntoView({ block: 'nearest' });
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
      <div className="table-wrap">
        <table className="stacking">
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
            {data.map((email) => (
              <EmailRow
                key={email.id}
                email={email}
                isSelected={email.id === selected}
                open={() => navigate(`/emails/${email.id}`)}
              />
            ))}
          </tbody>
        </table>
      </div>
      <nav className="pager" aria-label="Pages of the list">
        <span>
          {count(pagination.total)} {pagination.total === 1 ? 'email' : 'emails'}
          {pagination.totalPages > 1 && ` · page ${page} of ${count(pagination.totalPages)}`}
        </span>
        {pagination.totalPages > 1 && (
          <span className="row">
            <Button small disabled={page <= 1} onClick={() => turn(page - 1)}>
              Newer
            </Button>
            <Button small disabled={page >= pagination.totalPages} onClick={() => turn(page + 1)}>
              Older
            </Button>
          </span>
        )}
      </nav>
    </>
  );
}

function EmailRow({ email, isSelected, open }: { email: Email; isSelected: boolean; open: () => void }) {
  const { id, status, toEmails, ccEmails = [], bccEmails = [], subject, fromEmail, createdAt, tags } = email;
  const others = toEmails.length + ccEmails.length + bccEmails.length - 1;
  const first = [...toEmails, ...ccEmails, ...bccEmails][0] ?? '';
  const onClick = (event: { target: EventTarget }) => {
    if (event.target instanceof HTMLElement && event.target.closest('a')) return;
    if (window.getSelection()?.toString() === '') open();
  };
  return (
    <tr id={`row-${id}`} className={isSelected ? 'linked selected' : 'linked'} onClick={onClick}>
      <td>
        <Badge status={status} />
      </td>
      <td className="wide" data-label="To">
        <span className="cut">
          <bdi>{first}</bdi>
          {others > 0 && <span className="soft"> +{others}</span>}
        </span>
      </td>
      <td className="wide">
        <RowLink id={id} subject={subject} />
        {tags.length > 0 && <span className="hint cut">{tags.join(', ')}</span>}
      </td>
      <td className="wide soft" data-label="From">
        <span className="cut">
          <bdi>{fromEmail}</bdi>
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
  const go = (event: { metaKey: boolean; ctrlKey: boolean; preventDefault: () => void }) => {
    if (event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    navigate(`/emails/${id}`);
  };
  return (
    <a className="cut" href={`/console/emails/${id}`} onClick={go}>
      <bdi>{subject || '(no subject)'}</bdi>
    </a>
  );
}
