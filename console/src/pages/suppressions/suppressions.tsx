import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { del, get, post } from '../../api/client';
import { SELDOM } from '../../api/query-client';
import type { Data, OffsetPagination, Suppression } from '../../api/types';
import { Button } from '../../parts/button';
import { useChange } from '../../parts/change';
import { Confirm, Dialog, FormDialog } from '../../parts/dialog';
import { anyOf, bound, SelectField, TextField } from '../../parts/field';
import { useFilters } from '../../parts/filters';
import { words } from '../../parts/format';
import { FilterText } from '../../parts/filter-bar';
import { type Column, ListCard, OffsetPager } from '../../parts/list';
import { Page } from '../../parts/page';
import { RequiresRight, useRights } from '../../parts/rights';
import { Loaded } from '../../parts/states';
import { Badge, Foreign, Time } from '../../parts/text';
import { ImportDialog } from './import-dialog';

interface SuppressionList {
  readonly data: readonly Suppression[];
  readonly pagination: OffsetPagination;
}

const REASONS = ['hard_bounce', 'soft_bounce', 'spam_complaint', 'unsubscribe', 'manual', 'blocklist'];
const REMOVABLE = ['manual', 'unsubscribe'];
const WHY_NOT: Readonly<Record<string, string>> = {
  hard_bounce: 'Its server said that it does not exist.',
  soft_bounce: 'It expires automatically.',
  spam_complaint: 'Its owner reported mail as spam.',
  blocklist: 'The operator keeps it on the list.',
};
const LIMIT = 50;
const TITLE = 'Remove this address from the list?';

const COLUMNS: readonly Column<Suppression>[] = [
  { name: 'Address', look: 'break', cell: ({ email }) => <Foreign>{email}</Foreign> },
  { name: 'Reason', isBare: true, cell: ({ reason }) => <Badge status={reason} /> },
  { name: 'Since', look: 'soft', cell: ({ suppressedAt }) => <Time at={suppressedAt} /> },
  {
    name: 'Until',
    look: 'soft nowrap',
    cell: ({ expiresAt }) => (expiresAt ? <Time at={expiresAt} /> : 'permanently'),
  },
  { name: 'Notes', look: 'wide break soft', isBare: true, cell: ({ notes }) => <Foreign>{notes ?? ''}</Foreign> },
];

export default function Suppressions() {
  return (
    <RequiresRight scope="suppression:read">
      <SuppressionsPage />
    </RequiresRight>
  );
}

function SuppressionsPage() {
  const rights = useRights();
  const [{ email, reason, offset }, filter] = useFilters(['email', 'reason', 'offset']);
  const [open, setOpen] = useState<'add' | 'import'>();
  const [removes, setRemoves] = useState<Suppression>();
  const turn = (to: number) => filter({ offset: to <= 0 ? '' : String(to) });
  const query = useQuery({
    queryKey: ['suppressions', email, reason, offset],
    queryFn: () => get<SuppressionList>('/v1/suppressions', { limit: LIMIT, offset, email, reason }),
    placeholderData: keepPreviousData,
    refetchInterval: SELDOM,
  });
  const add = rights('suppression:manage') && (
    <>
      <Button onClick={() => setOpen('import')}>Import CSV</Button>
      <Button kind="primary" icon="plus" onClick={() => setOpen('add')}>
        Add an address
      </Button>
    </>
  );
  const actions: Column<Suppression> = {
    name: 'Actions',
    isHidden: true,
    cell: (entry) => rights('suppression:manage') && <Removal entry={entry} ask={setRemoves} />,
  };
  return (
    <Page
      title="Suppressions"
      lead="Addresses that nothing is sent to. Bounces, complaints and unsubscriptions put themselves here."
      actions={add}
    >
      <div className="filters" role="search">
        <FilterText
          label="Address"
          value={email}
          placeholder="ada@example.com"
          hint="The whole address, then Enter"
          onChange={(value) => filter({ email: value, offset: '' })}
        />
        <SelectField
          label="Reason"
          value={reason}
          options={anyOf(REASONS)}
          onChange={({ target }) => filter({ reason: target.value, offset: '' })}
        />
      </div>
      <ListCard
        query={query}
        rowsOf={({ data }) => data}
        keyOf={({ id }) => id}
        caption="Suppressed addresses"
        columns={[...COLUMNS, actions]}
        empty={{
          icon: 'suppressions',
          title: email || reason ? 'No matching entries' : 'No address is suppressed',
          text: emptyText(email, reason),
        }}
        pager={({ data, pagination: { total, offset: at, limit } }) => (
          <OffsetPager offset={at} shown={data.length} total={total} limit={limit} turn={turn} />
        )}
      />
      {open === 'add' && <AddDialog onClose={() => setOpen(undefined)} />}
      {open === 'import' && <ImportDialog onClose={() => setOpen(undefined)} />}
      {removes && <RemoveDialog entry={removes} onClose={() => setRemoves(undefined)} />}
    </Page>
  );
}

/** Only without a reason does an empty list say that an address is not suppressed. */
function emptyText(email: string, reason: string): string {
  if (email === '') return 'Addresses that bounce or complain are added automatically.';
  return reason === '' ? 'Mail to this address is sent.' : 'Not with this reason: it may be listed with another one.';
}

function Removal({ entry, ask }: { entry: Suppression; ask: (entry: Suppression) => void }) {
  if (!REMOVABLE.includes(entry.reason)) return <span className="hint">{WHY_NOT[entry.reason]}</span>;
  return (
    <Button small onClick={() => ask(entry)} aria-label={`Remove ${entry.email}`}>
      Remove
    </Button>
  );
}

/** What goes off the list: an address has an entry for each reason, and all of them are removed together. */
function RemoveDialog({ entry: { email }, onClose }: { entry: Suppression; onClose: () => void }) {
  const change = useChange();
  const query = useQuery({
    queryKey: ['suppressions', 'of', email],
    queryFn: () => get<SuppressionList>('/v1/suppressions', { limit: LIMIT, email }),
    // What is shown here is what the user agrees to.
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const entries = query.data?.data;
  const staying = entries?.filter(({ reason }) => !REMOVABLE.includes(reason)) ?? [];
  if (entries === undefined || entries.length === 0 || staying.length > 0) {
    return (
      <Dialog title={staying.length > 0 ? 'This address stays on the list' : TITLE} onClose={onClose}>
        <Loaded query={query} lines={2}>
          {() =>
            staying.length > 0 ? (
              <>
                <p>
                  <Foreign>{email}</Foreign> cannot be removed, for any reason, while this holds:
                </p>
                <Entries entries={staying} />
              </>
            ) : (
              <p>
                <Foreign>{email}</Foreign> is no longer on the list.
              </p>
            )
          }
        </Loaded>
        <div className="dialog-actions">
          <Button onClick={onClose}>Close</Button>
        </div>
      </Dialog>
    );
  }
  const remove = async () => {
    const { data: present, error } = await query.refetch();
    if (error) throw error;
    if (idsOf(present?.data ?? []) !== idsOf(entries)) {
      throw new Error('The entries of this address have changed. Please check them again.');
    }
    await change(del(`/v1/suppressions/${encodeURIComponent(email)}`), {
      refresh: ['suppressions'],
      said: `${email} is off the list`,
    });
  };
  return (
    <Confirm title={TITLE} action="Remove" onConfirm={remove} onClose={onClose}>
      <p>
        Mail to <Foreign>{email}</Foreign> is sent again. {entries.length > 1 && 'All of its entries are removed:'}
      </p>
      <Entries entries={entries} />
      {entries.some(({ reason }) => reason === 'unsubscribe') && (
        <p>
          <strong>Its owner has unsubscribed:</strong> be sure that they have changed their mind.
        </p>
      )}
      <p>It can be added again at any time.</p>
    </Confirm>
  );
}

const idsOf = (entries: readonly Suppression[]): string =>
  entries
    .map(({ id }) => id)
    .toSorted()
    .join();

function Entries({ entries }: { entries: readonly Suppression[] }) {
  return (
    <ul>
      {entries.map(({ id, reason, suppressedAt, notes }) => (
        <li key={id}>
          <Badge status={reason} />{' '}
          <span className="soft">
            <Time at={suppressedAt} />
          </span>{' '}
          {WHY_NOT[reason]} <Foreign className="break">{notes ?? ''}</Foreign>
        </li>
      ))}
    </ul>
  );
}

function AddDialog({ onClose }: { onClose: () => void }) {
  const change = useChange();
  const [email, setEmail] = useState('');
  const [reason, setReason] = useState('manual');
  const [notes, setNotes] = useState('');
  const body = { email: email.trim(), reason, ...(notes && { notes }) };
  return (
    <FormDialog
      title="Add an address"
      action="Add"
      onClose={onClose}
      onSubmit={() =>
        change(post<Data<Suppression>>('/v1/suppressions', body), {
          refresh: ['suppressions'],
          said: `No more mail is sent to ${body.email}`,
        })
      }
    >
      {(said) => (
        <>
          <TextField label="Address" required {...bound(email, setEmail, said('email'))} />
          <SelectField
            label="Reason"
            {...bound(reason, setReason)}
            options={REMOVABLE.map((value) => ({ value, label: words(value) }))}
            hint="“unsubscribe” does not block transactional mail; “manual” blocks all mail."
          />
          <TextField label="Notes" {...bound(notes, setNotes, said('notes'))} maxLength={500} />
        </>
      )}
    </FormDialog>
  );
}
