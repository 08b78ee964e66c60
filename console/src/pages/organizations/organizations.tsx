import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { get, patch, post } from '../../api/client';
import { useMay } from '../../api/session';
import type { CreatedApiKey, Data, Organization, Pagination } from '../../api/types';
import { Button, CopyButton } from '../../parts/button';
import { Confirm, Dialog } from '../../parts/dialog';
import { SelectField, TextField } from '../../parts/field';
import { useFilters } from '../../parts/filters';
import { count } from '../../parts/format';
import { Card, Page } from '../../parts/page';
import { Empty, InlineError, Loaded, Requires } from '../../parts/states';
import { Badge, Time } from '../../parts/text';
import { useToast } from '../../parts/toast';

interface OrganizationList {
  readonly data: readonly Organization[];
  readonly pagination: Pagination;
}

const LIMIT = 50;
/** What a program of an organization needs to begin with; its people make further keys themselves. */
const FIRST_KEY_SCOPES = [
  'email:send',
  'email:read',
  'domain:manage',
  'stats:read',
  'suppression:manage',
  'template:manage',
  'webhook:manage',
  'key:manage',
];

export default function Organizations() {
  return (
    <Requires scope="operator:read">
      <OrganizationsPage />
    </Requires>
  );
}

function OrganizationsPage() {
  const may = useMay();
  const [{ q, status, page }, change] = useFilters(['q', 'status', 'page']);
  const [text, setText] = useState(q);
  const [creates, setCreates] = useState(false);
  const at = Math.max(1, Number(page) || 1);
  const query = useQuery({
    queryKey: ['organizations', q, status, at],
    queryFn: () => get<OrganizationList>('/operator/v1/organizations', { q, status, page: at, limit: LIMIT }),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  });
  const search = (event: FormEvent) => {
    event.preventDefault();
    change({ q: text.trim(), page: '' });
  };
  return (
    <Page
      title="Organizations"
      lead="Whose mail this installation sends."
      actions={
        may('operator:manage') && (
          <Button kind="primary" icon="plus" onClick={() => setCreates(true)}>
            Create
          </Button>
        )
      }
    >
      <form className="filters" role="search" onSubmit={search}>
        <TextField label="Name or id" type="search" value={text} onChange={(event) => setText(event.target.value)} />
        <SelectField
          label="Status"
          value={status}
          options={[
            { value: '', label: 'Any' },
            { value: 'active', label: 'Active' },
            { value: 'suspended', label: 'Suspended' },
          ]}
          onChange={({ target }) => change({ status: target.value, page: '' })}
        />
      </form>
      <Card flush>
        <Loaded query={query}>
          {({ data, pagination }) =>
            data.length === 0 ? (
              <Empty
                icon="organizations"
                title={q || status ? 'No organization is like that' : 'No organizations yet'}
              />
            ) : (
              <>
                <Table organizations={data} />
                <div className="pager">
                  <span>{count(pagination.total)} in all</span>
                  {pagination.totalPages > 1 && (
                    <span className="row">
                      <Button small disabled={at <= 1} onClick={() => change({ page: String(at - 1) })}>
                        Back
                      </Button>
                      <Button
                        small
                        disabled={at >= pagination.totalPages}
                        onClick={() => change({ page: String(at + 1) })}
                      >
                        On
                      </Button>
                    </span>
                  )}
                </div>
              </>
            )
          }
        </Loaded>
      </Card>
      {creates && <CreateDialog onClose={() => setCreates(false)} />}
    </Page>
  );
}

type Asked = { readonly what: 'limits' | 'suspend' | 'key'; readonly organization: Organization };

function Table({ organizations }: { organizations: readonly Organization[] }) {
  const may = useMay();
  const client = useQueryClient();
  const toast = useToast();
  const [asked, setAsked] = useState<Asked>();
  const close = () => setAsked(undefined);
  const setStatus = async ({ id, name }: Organization, status: string) => {
    await patch(`/operator/v1/organizations/${id}`, { status });
    await client.invalidateQueries({ queryKey: ['organizations'] });
    toast(`${name} is ${status}`);
  };
  return (
    <div className="table-wrap">
      <table className="stacking">
        <caption className="visually-hidden">Organizations</caption>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">State</th>
            <th scope="col" className="number">
              Today
            </th>
            <th scope="col" className="number">
              Month
            </th>
            <th scope="col" className="number">
              Limit
            </th>
            <th scope="col" className="number">
              Weight
            </th>
            <th scope="col">Created</th>
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {organizations.map((organization) => (
            <tr key={organization.id}>
              <td className="wide break">
                <bdi>{organization.name}</bdi>
                <div className="hint">
                  <code>{organization.id}</code>
                </div>
              </td>
              <td>
                <Badge status={organization.status} />
              </td>
              <td className="number" data-label="Today">
                {count(organization.usage.today)}
              </td>
              <td className="number" data-label="Month">
                {count(organization.usage.month)}
              </td>
              <td className="number" data-label="Limit">
                {organization.monthlyRecipients === null ? 'none' : count(organization.monthlyRecipients)}
              </td>
              <td className="number" data-label="Weight">
                {organization.weight}
              </td>
              <td className="soft" data-label="Created">
                <Time at={organization.createdAt} />
              </td>
              <td>
                {may('operator:manage') && (
                  <span className="row">
                    <Button small onClick={() => setAsked({ what: 'limits', organization })}>
                      Limits<span className="visually-hidden"> of {organization.name}</span>
                    </Button>
                    <Button small onClick={() => setAsked({ what: 'key', organization })}>
                      New key<span className="visually-hidden"> for {organization.name}</span>
                    </Button>
                    {organization.status === 'active' ? (
                      <Button small kind="danger" onClick={() => setAsked({ what: 'suspend', organization })}>
                        Suspend<span className="visually-hidden"> {organization.name}</span>
                      </Button>
                    ) : (
                      <Button
                        small
                        onClick={() =>
                          void setStatus(organization, 'active').catch((error: Error) => toast(error.message))
                        }
                      >
                        Resume<span className="visually-hidden"> {organization.name}</span>
                      </Button>
                    )}
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {asked?.what === 'limits' && <LimitsDialog organization={asked.organization} onClose={close} />}
      {asked?.what === 'key' && <KeyDialog organization={asked.organization} onClose={close} />}
      {asked?.what === 'suspend' && (
        <Confirm
          title={`Suspend ${asked.organization.name}?`}
          action="Suspend"
          onConfirm={() => setStatus(asked.organization, 'suspended')}
          onClose={close}
        >
          <p>
            Its keys are refused within 5 seconds. Mail that is already accepted is still delivered. It can be resumed
            at any time.
          </p>
        </Confirm>
      )}
    </div>
  );
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const toast = useToast();
  const [name, setName] = useState('');
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await post('/operator/v1/organizations', { name: name.trim() });
      await client.invalidateQueries({ queryKey: ['organizations'] });
      toast(`${name.trim()} is created: it needs a key next`);
      onClose();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return (
    <Dialog title="Create an organization" onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <TextField
          label="Name"
          required
          autoFocus
          maxLength={200}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <InlineError error={error} />
        <div className="dialog-actions">
          <Button onClick={onClose}>Close</Button>
          <Button kind="primary" type="submit" busy={busy}>
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function LimitsDialog({ organization, onClose }: { organization: Organization; onClose: () => void }) {
  const client = useQueryClient();
  const [weight, setWeight] = useState(String(organization.weight));
  const [monthly, setMonthly] = useState(
    organization.monthlyRecipients === null ? '' : String(organization.monthlyRecipients),
  );
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await patch(`/operator/v1/organizations/${organization.id}`, {
        weight: Number(weight),
        monthlyRecipients: monthly === '' ? null : Number(monthly),
      });
      await client.invalidateQueries({ queryKey: ['organizations'] });
      onClose();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Limits of ${organization.name}`} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <TextField
          label="Weight"
          type="number"
          min={1}
          max={100}
          required
          value={weight}
          onChange={(event) => setWeight(event.target.value)}
          hint="Its share of the deliveries beside other organizations with ready mail."
        />
        <TextField
          label="Recipients a month"
          type="number"
          min={0}
          value={monthly}
          onChange={(event) => setMonthly(event.target.value)}
          hint="Live mail; empty: no limit. A send over it is refused."
        />
        <InlineError error={error} />
        <div className="dialog-actions">
          <Button onClick={onClose}>Close</Button>
          <Button kind="primary" type="submit" busy={busy}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function KeyDialog({ organization, onClose }: { organization: Organization; onClose: () => void }) {
  const [name, setName] = useState('First key');
  const [mode, setMode] = useState('live');
  const [created, setCreated] = useState<CreatedApiKey>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      setCreated(
        (
          await post<Data<CreatedApiKey>>(`/operator/v1/organizations/${organization.id}/api-keys`, {
            name,
            mode,
            scopes: FIRST_KEY_SCOPES,
          })
        ).data,
      );
    } catch (failed) {
      setError(failed);
    }
    setBusy(false);
  };
  return (
    <Dialog title={`A key for ${organization.name}`} onClose={onClose}>
      {created ? (
        <>
          <div className="stack">
            <p>Hand it over now: it is not kept, and not shown again.</p>
            <code className="secret">{created.key}</code>
          </div>
          <div className="dialog-actions">
            <CopyButton text={created.key} what="the key" label="Copy" />
            <Button kind="primary" onClick={onClose}>
              I have it
            </Button>
          </div>
        </>
      ) : (
        <form className="form" onSubmit={submit}>
          <TextField
            label="Name"
            required
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <SelectField
            label="Mode"
            value={mode}
            options={[
              { value: 'live', label: 'Live' },
              { value: 'test', label: 'Test' },
            ]}
            onChange={({ target }) => setMode(target.value)}
          />
          <p className="hint">It may {FIRST_KEY_SCOPES.join(', ')}.</p>
          <InlineError error={error} />
          <div className="dialog-actions">
            <Button onClick={onClose}>Close</Button>
            <Button kind="primary" type="submit" busy={busy}>
              Create
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
