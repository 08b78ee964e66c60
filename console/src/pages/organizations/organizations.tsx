import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { get, patch } from '../../api/client';
import { useMay } from '../../api/session';
import type { Organization, Pagination } from '../../api/types';
import { Button, ButtonLink } from '../../parts/button';
import { useChange } from '../../parts/change';
import { anyOf } from '../../parts/field';
import { useFilters } from '../../parts/filters';
import { count } from '../../parts/format';
import { type Filter, FilterBar } from '../../parts/filter-bar';
import { type Column, ListCard, PagesPager } from '../../parts/list';
import { Page } from '../../parts/page';
import { Requires } from '../../parts/states';
import { Badge, Foreign, Time } from '../../parts/text';
import { useToast } from '../../parts/toast';
import { CreateDialog, KeyDialog, LimitsDialog, SuspendDialog } from './organization-dialogs';

interface OrganizationList {
  readonly data: readonly Organization[];
  readonly pagination: Pagination;
}

type Asked = { readonly what: 'limits' | 'suspend' | 'key'; readonly organization: Organization };

const LIMIT = 50;
const FILTERS: readonly Filter<'q' | 'status'>[] = [
  { name: 'q', label: 'Name or id' },
  { name: 'status', label: 'Status', options: anyOf(['active', 'suspended']) },
];

const COLUMNS: readonly Column<Organization>[] = [
  {
    name: 'Name',
    look: 'wide break',
    cell: ({ id, name }) => (
      <>
        <Foreign>{name}</Foreign>
        <div className="hint">
          <code>{id}</code>
        </div>
      </>
    ),
  },
  { name: 'State', isBare: true, cell: ({ status }) => <Badge status={status} /> },
  { name: 'Today', look: 'number', cell: ({ usage }) => count(usage.today) },
  { name: 'Month', look: 'number', cell: ({ usage }) => count(usage.month) },
  {
    name: 'Limit',
    look: 'number',
    cell: ({ monthlyRecipients }) => (monthlyRecipients === null ? 'none' : count(monthlyRecipients)),
  },
  { name: 'Weight', look: 'number', cell: ({ weight }) => weight },
  { name: 'Created', look: 'soft', cell: ({ createdAt }) => <Time at={createdAt} /> },
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
  const [{ q, status, page }, filter] = useFilters(['q', 'status', 'page']);
  const [creates, setCreates] = useState(false);
  const [asked, setAsked] = useState<Asked>();
  const at = Math.max(1, Number(page) || 1);
  const turn = (to: number) => filter({ page: String(to) });
  const query = useQuery({
    queryKey: ['organizations', q, status, at],
    queryFn: () => get<OrganizationList>('/operator/v1/organizations', { q, status, page: at, limit: LIMIT }),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  });
  const create = may('operator:manage') && (
    <Button kind="primary" icon="plus" onClick={() => setCreates(true)}>
      Create
    </Button>
  );
  const actions: Column<Organization> = {
    name: 'Actions',
    isHidden: true,
    cell: (organization) => <Actions organization={organization} ask={setAsked} />,
  };
  return (
    <Page title="Organizations" lead="The organizations that send through this installation." actions={create}>
      <FilterBar filters={FILTERS} values={{ q, status }} change={filter} />
      <ListCard
        query={query}
        rowsOf={({ data }) => data}
        keyOf={({ id }) => id}
        caption="Organizations"
        columns={[...COLUMNS, actions]}
        empty={{
          icon: 'organizations',
          title: q || status ? 'No matching organizations' : 'No organizations yet',
          text: q || status ? 'Any part of a name matches. Ids must match in full.' : 'Create one, then a key for it.',
          action: !q && !status && create,
        }}
        pager={({ pagination }) => <PagesPager page={at} pagination={pagination} what="organization" turn={turn} />}
      />
      {creates && <CreateDialog onClose={() => setCreates(false)} />}
      {asked && <AskedDialog asked={asked} onClose={() => setAsked(undefined)} />}
    </Page>
  );
}

function AskedDialog({ asked: { what, organization }, onClose }: { asked: Asked; onClose: () => void }) {
  const props = { organization, onClose };
  if (what === 'limits') return <LimitsDialog {...props} />;
  return what === 'key' ? <KeyDialog {...props} /> : <SuspendDialog {...props} />;
}

function Actions({ organization, ask }: { organization: Organization; ask: (asked: Asked) => void }) {
  const may = useMay();
  const change = useChange();
  const toast = useToast();
  const [busy, setBusy] = useState(false);
  const { id, name, status } = organization;
  const resume = async () => {
    setBusy(true);
    await change(patch(`/operator/v1/organizations/${id}`, { status: 'active' }), {
      refresh: ['organizations'],
      said: `${name} is active`,
    }).catch((error: Error) => toast(error.message));
    setBusy(false);
  };
  const named = (words: string) => <span className="visually-hidden"> {words}</span>;
  return (
    <span className="row">
      <ButtonLink small to={`/queue?organization=${id}`}>
        Queue{named(`of ${name}`)}
      </ButtonLink>
      {may('operator:manage') && (
        <>
          <Button small onClick={() => ask({ what: 'limits', organization })}>
            Limits{named(`of ${name}`)}
          </Button>
          <Button small onClick={() => ask({ what: 'key', organization })}>
            New key{named(`for ${name}`)}
          </Button>
          {status === 'active' ? (
            <Button small kind="danger" onClick={() => ask({ what: 'suspend', organization })}>
              Suspend{named(name)}
            </Button>
          ) : (
            <Button small busy={busy} onClick={() => void resume()}>
              Resume{named(name)}
            </Button>
          )}
        </>
      )}
    </span>
  );
}
