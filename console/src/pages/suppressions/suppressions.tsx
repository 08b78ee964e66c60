import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { del, get, post } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, OffsetPagination, Suppression } from '../../api/types';
import { Button } from '../../parts/button';
import { useChange } from '../../parts/change';
import { Confirm, FormDialog } from '../../parts/dialog';
import { anyOf, bound, SelectField, TextField } from '../../parts/field';
import { useFilters } from '../../parts/filters';
import { words } from '../../parts/format';
import { type Column, FilterText, ListCard, OffsetPager } from '../../parts/list';
import { Page } from '../../parts/page';
import { Requires } from '../../parts/states';
import { Badge, Time } from '../../parts/text';
import { ImportDialog } from './import-dialog';

interface SuppressionList {
  readonly data: readonly Suppression[];
  readonly pagination: OffsetPagination;
}

const REASONS = ['hard_bounce', 'soft_bounce', 'spam_complaint', 'unsubscribe', 'manual', 'blocklist'];
const REMOVABLE = ['manual', 'unsubscribe'];
const WHY_NOT: Readonly<Record<string, string>> = {
  hard_bounce: 'Its server has said that it does not exist.',
  soft_bounce: 'It ends by itself.',
  spam_complaint: 'Its owner has reported mail as spam.',
  blocklist: 'The operator keeps it on the list.',
};
const LIMIT = 50;

const COLUMNS: readonly Column<Suppression>[] = [
  { name: 'Address', look: 'break', cell: ({ email }) => <bdi>{email}</bdi> },
  { name: 'Reason', isBare: true, cell: ({ reason }) => <Badge status={reason} /> },
  { name: 'Since', look: 'soft', cell: ({ suppressedAt }) => <Time at={suppressedAt} /> },
  { name: 'Until', look: 'soft nowrap', cell: ({ expiresAt }) => (expiresAt ? <Time at={expiresAt} /> : 'for good') },
  { name: 'Notes', look: 'wide break soft', isBare: true, cell: ({ notes }) => <bdi>{notes ?? ''}</bdi> },
];

export default function Suppressions() {
  return (
    <Requires scope="suppression:read">
      <SuppressionsPage />
    </Requires>
  );
}

function SuppressionsPage() {
  const may = useMay();
  const [{ email, reason, offset }, filter] = useFilters(['email', 'reason', 'offset']);
  const [open, setOpen] = useState<'add' | 'import'>();
  const [removes, setRemoves] = useState<Suppression>();
  const turn = (to: number) => filter({ offset: to <= 0 ? '' : String(to) });
  const query = useQuery({
    queryKey: ['suppressions', email, reason, offset],
    queryFn: () => get<SuppressionList>('/v1/suppressions', { limit: LIMIT, offset, email, reason }),
    placeholderData: keepPreviousData,
  });
  const add = may('suppression:manage') && (
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
    cell: (entry) => may('suppression:manage') && <Removal entry={entry} ask={setRemoves} />,
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
          title: email || reason ? 'No entry is like that' : 'No address is suppressed',
          text: email
            ? 'Mail to this address is sent.'
            : 'Addresses that bounce or complain show up here by themselves.',
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

function Removal({ entry, ask }: { entry: Suppression; ask: (entry: Suppression) => void }) {
  if (!REMOVABLE.includes(entry.reason)) return <span className="hint">{WHY_NOT[entry.reason]}</span>;
  return (
    <Button small onClick={() => ask(entry)} aria-label={`Remove ${entry.email}`}>
      Remove
    </Button>
  );
}

function RemoveDialog({ entry: { email, reason }, onClose }: { entry: Suppression; onClose: () => void }) {
  const change = useChange();
  return (
    <Confirm
      title="Remove this address from the list?"
      action="Remove"
      onConfirm={() =>
        change(del(`/v1/suppressions/${encodeURIComponent(email)}`), {
          refresh: ['suppressions'],
          said: `${email} may be sent to again`,
        })
      }
      onClose={onClose}
    >
      <p>
        Mail to <bdi>{email}</bdi> is sent again.{' '}
        {reason === 'unsubscribe' && 'Its owner has asked for no more mail: be sure that they have changed their mind.'}{' '}
        It can be added again at any time.
      </p>
    </Confirm>
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
          said: `Nothing is sent to ${body.email} any more`,
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
            hint="Transactional mail is sent in spite of “unsubscribe”, never in spite of “manual”."
          />
          <TextField label="Notes" {...bound(notes, setNotes, said('notes'))} maxLength={500} />
        </>
      )}
    </FormDialog>
  );
}
