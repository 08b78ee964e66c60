import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError, del, get, post } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, OffsetPagination, Suppression } from '../../api/types';
import { Button } from '../../parts/button';
import { Confirm, Dialog } from '../../parts/dialog';
import { SelectField, TextField } from '../../parts/field';
import { useFilters } from '../../parts/filters';
import { count, words } from '../../parts/format';
import { Card, Page } from '../../parts/page';
import { Empty, InlineError, Loaded, Requires } from '../../parts/states';
import { Badge, Time } from '../../parts/text';
import { useToast } from '../../parts/toast';
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

export default function Suppressions() {
  return (
    <Requires scope="suppression:read">
      <SuppressionsPage />
    </Requires>
  );
}

function SuppressionsPage() {
  const may = useMay();
  const [{ email, reason, offset }, change] = useFilters(['email', 'reason', 'offset']);
  const [text, setText] = useState(email);
  const [open, setOpen] = useState<'add' | 'import'>();
  const query = useQuery({
    queryKey: ['suppressions', email, reason, offset],
    queryFn: () => get<SuppressionList>('/v1/suppressions', { limit: LIMIT, offset, email, reason }),
    placeholderData: keepPreviousData,
  });
  const search = (event: FormEvent) => {
    event.preventDefault();
    change({ email: text.trim(), offset: '' });
  };
  return (
    <Page
      title="Suppressions"
      lead="Addresses that nothing is sent to. Bounces, complaints and unsubscriptions put themselves here."
      actions={
        may('suppression:manage') && (
          <>
            <Button onClick={() => setOpen('import')}>Import CSV</Button>
            <Button kind="primary" icon="plus" onClick={() => setOpen('add')}>
              Add an address
            </Button>
          </>
        )
      }
    >
      <form className="filters" role="search" onSubmit={search}>
        <TextField
          label="Address"
          type="search"
          value={text}
          placeholder="ada@example.com"
          onChange={(event) => setText(event.target.value)}
          hint="The whole address, then Enter"
        />
        <SelectField
          label="Reason"
          value={reason}
          options={[{ value: '', label: 'Any' }, ...REASONS.map((value) => ({ value, label: words(value) }))]}
          onChange={({ target }) => change({ reason: target.value, offset: '' })}
        />
      </form>
      <Card flush>
        <Loaded query={query} lines={8}>
          {(list) =>
            list.data.length === 0 ? (
              <Empty icon="suppressions" title={email || reason ? 'No entry is like that' : 'Nobody is suppressed'}>
                {email
                  ? 'Mail to this address is sent.'
                  : 'Addresses that bounce or complain show up here by themselves.'}
              </Empty>
            ) : (
              <List list={list} turn={(to) => change({ offset: to === 0 ? '' : String(to) })} />
            )
          }
        </Loaded>
      </Card>
      {open === 'add' && <AddDialog onClose={() => setOpen(undefined)} />}
      {open === 'import' && <ImportDialog onClose={() => setOpen(undefined)} />}
    </Page>
  );
}

function List({ list: { data, pagination }, turn }: { list: SuppressionList; turn: (offset: number) => void }) {
  const may = useMay();
  const client = useQueryClient();
  const toast = useToast();
  const [removes, setRemoves] = useState<Suppression>();
  const { total, offset, limit, hasMore } = pagination;
  const remove = async (entry: Suppression) => {
    await del(`/v1/suppressions/${encodeURIComponent(entry.email)}`);
    await client.invalidateQueries({ queryKey: ['suppressions'] });
    toast(`${entry.email} may be sent to again`);
  };
  return (
    <>
      <div className="table-wrap">
        <table className="stacking">
          <caption className="visually-hidden">Suppressed addresses</caption>
          <thead>
            <tr>
              <th scope="col">Address</th>
              <th scope="col">Reason</th>
              <th scope="col">Since</th>
              <th scope="col">Until</th>
              <th scope="col">Notes</th>
              <th scope="col">
                <span className="visually-hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {data.map((entry) => (
              <tr key={entry.id}>
                <td className="break">
                  <bdi>{entry.email}</bdi>
                </td>
                <td>
                  <Badge status={entry.reason} />
                </td>
                <td className="soft" data-label="Since">
                  <Time at={entry.suppressedAt} />
                </td>
                <td className="soft" data-label="Until">
                  {entry.expiresAt ? <Time at={entry.expiresAt} /> : 'removed'}
                </td>
                <td className="wide break soft">
                  <bdi>{entry.notes ?? ''}</bdi>
                </td>
                <td>
                  {may('suppression:manage') &&
                    (REMOVABLE.includes(entry.reason) ? (
                      <Button small onClick={() => setRemoves(entry)} aria-label={`Remove ${entry.email}`}>
                        Remove
                      </Button>
                    ) : (
                      <span className="hint">{WHY_NOT[entry.reason]}</span>
                    ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <nav className="pager" aria-label="Pages of the list">
        <span>
          {count(offset + 1)}–{count(offset + data.length)} of {count(total)}
        </span>
        {(offset > 0 || hasMore) && (
          <span className="row">
            <Button small disabled={offset === 0} onClick={() => turn(Math.max(0, offset - limit))}>
              Back
            </Button>
            <Button small disabled={!hasMore} onClick={() => turn(offset + limit)}>
              On
            </Button>
          </span>
        )}
      </nav>
      {removes && (
        <Confirm
          title="Remove this address from the list?"
          action="Remove"
          onConfirm={() => remove(removes)}
          onClose={() => setRemoves(undefined)}
        >
          <p>
            Mail to <bdi>{removes.email}</bdi> is sent again.{' '}
            {removes.reason === 'unsubscribe' &&
              'Its owner has asked for no more mail: be sure that they have changed their mind.'}{' '}
            It can be added again at any time.
          </p>
        </Confirm>
      )}
    </>
  );
}

function AddDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const toast = useToast();
  const [email, setEmail] = useState('');
  const [reason, setReason] = useState('manual');
  const [notes, setNotes] = useState('');
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await post<Data<Suppression>>('/v1/suppressions', { email: email.trim(), reason, ...(notes && { notes }) });
      await client.invalidateQueries({ queryKey: ['suppressions'] });
      toast(`Nothing is sent to ${email.trim()} any more`);
      onClose();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  const said = error instanceof ApiError ? error.validation : {};
  return (
    <Dialog title="Add an address" onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <TextField
          label="Address"
          required
          autoFocus
          value={email}
          onChange={(event) => setEmail(event.target.value)}
          error={said.email?.join('. ')}
        />
        <SelectField
          label="Reason"
          value={reason}
          options={REMOVABLE.map((value) => ({ value, label: words(value) }))}
          onChange={({ target }) => setReason(target.value)}
          hint="Transactional mail is sent in spite of “unsubscribe”, never in spite of “manual”."
        />
        <TextField label="Notes" value={notes} maxLength={500} onChange={(event) => setNotes(event.target.value)} />
        {Object.keys(said).length === 0 && <InlineError error={error} />}
        <div className="dialog-actions">
          <Button onClick={onClose}>Close</Button>
          <Button kind="primary" type="submit" busy={busy}>
            Add
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
