import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { del, get, post } from '../../api/client';
import { SELDOM } from '../../api/query-client';
import { useMay, useSession } from '../../api/session';
import type { Data, InboundRoute, Pagination, Webhook } from '../../api/types';
import { Button } from '../../parts/button';
import { useChange } from '../../parts/change';
import { Confirm, FormDialog } from '../../parts/dialog';
import { bound, SelectField, TextField } from '../../parts/field';
import { useFilters } from '../../parts/filters';
import { type Column, ListCard, PagesPager } from '../../parts/list';
import { PageLink, useRights } from '../../parts/rights';
import { Badge, Foreign, Time } from '../../parts/text';

interface RouteList {
  readonly data: readonly InboundRoute[];
  readonly pagination: Pagination;
}

const LIMIT = 20;

const COLUMNS: readonly Column<InboundRoute>[] = [
  { name: 'Address', look: 'break', cell: ({ address }) => <Foreign>{address}</Foreign> },
  {
    name: 'Domain',
    isBare: true,
    cell: ({ domainId }) =>
      domainId === undefined ? (
        <Badge status="no verified domain" tone="bad" />
      ) : (
        <PageLink scope="domain:read" to={`/domains/${domainId}`} otherwise="verified">
          its records
        </PageLink>
      ),
  },
  {
    name: 'Tells',
    look: 'soft',
    cell: ({ webhookId }) =>
      webhookId === undefined ? (
        'subscribed webhooks'
      ) : (
        <PageLink scope="webhook:read" to={`/webhooks/${webhookId}`}>
          one webhook
        </PageLink>
      ),
  },
  { name: 'Since', look: 'soft', cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** The addresses whose mail is accepted. Keys that are bound to a domain see none of them. */
export function Routes() {
  const rights = useRights();
  const { key } = useSession();
  // The list of mail below it has a page of its own.
  const [{ routes }, filter] = useFilters(['routes']);
  const page = Math.max(1, Number(routes) || 1);
  const turn = (to: number) => filter({ routes: to === 1 ? '' : String(to) });
  const [adds, setAdds] = useState(false);
  const [removes, setRemoves] = useState<InboundRoute>();
  const query = useQuery({
    queryKey: ['inbound-routes', page],
    queryFn: () => get<RouteList>('/v1/inbound-routes', { page, limit: LIMIT }),
    placeholderData: keepPreviousData,
    refetchInterval: SELDOM,
    enabled: key.domainId === undefined,
  });
  if (key.domainId !== undefined) return null;
  const canManage = rights('inbound:manage');
  const add = canManage && (
    <Button kind="primary" icon="plus" onClick={() => setAdds(true)}>
      Add a route
    </Button>
  );
  const actions: Column<InboundRoute> = {
    name: 'Actions',
    isHidden: true,
    cell: (route) =>
      canManage && (
        <Button small onClick={() => setRemoves(route)} aria-label={`Delete ${route.address}`}>
          Delete
        </Button>
      ),
  };
  return (
    <>
      <ListCard
        title="Routes"
        actions={add}
        query={query}
        rowsOf={({ data }) => data}
        keyOf={({ id }) => id}
        caption="Inbound routes, by address"
        columns={[...COLUMNS, actions]}
        lines={3}
        empty={{
          icon: 'inbound',
          title: 'No routes yet',
          text: 'Add an address of a verified domain, then publish the MX record shown on the domain’s page.',
        }}
        pager={({ pagination }) => <PagesPager page={page} pagination={pagination} what="route" turn={turn} />}
      />
      {adds && <AddDialog onClose={() => setAdds(false)} />}
      {removes && <RemoveDialog route={removes} onClose={() => setRemoves(undefined)} />}
    </>
  );
}

function AddDialog({ onClose }: { onClose: () => void }) {
  const change = useChange();
  const may = useMay();
  const [address, setAddress] = useState('');
  const [webhookId, setWebhookId] = useState('');
  const webhooks = useQuery({
    queryKey: ['webhooks'],
    queryFn: () => get<Data<Webhook[]>>('/v1/webhooks'),
    enabled: may('webhook:read'),
  });
  const body = { address: address.trim(), ...(webhookId && { webhookId }) };
  const options = (webhooks.data?.data ?? []).map(({ id, url }) => ({ value: id, label: url }));
  return (
    <FormDialog
      title="Add a route"
      action="Add"
      onClose={onClose}
      onSubmit={() =>
        change(post<Data<InboundRoute>>('/v1/inbound-routes', body), {
          refresh: ['inbound-routes', 'domain', 'domains'],
          said: `Mail to ${body.address} is taken`,
        })
      }
    >
      {(said) => (
        <>
          <TextField
            label="Address"
            required
            {...bound(address, setAddress, said('address'))}
            placeholder="support@in.example.com"
            hint="Of a verified domain or below one; *@in.example.com takes all of a host"
          />
          <SelectField
            label="Webhook"
            {...bound(webhookId, setWebhookId, said('webhookId'))}
            options={[{ value: '', label: 'All that subscribe to it' }, ...options]}
            hint="If you choose one, only that one receives it"
          />
        </>
      )}
    </FormDialog>
  );
}

function RemoveDialog({ route: { id, address }, onClose }: { route: InboundRoute; onClose: () => void }) {
  const change = useChange();
  return (
    <Confirm
      title="Delete this route?"
      action="Delete"
      onConfirm={() =>
        change(del(`/v1/inbound-routes/${id}`), {
          refresh: ['inbound-routes', 'domain', 'domains'],
          said: `Mail to ${address} is refused from now on`,
        })
      }
      onClose={onClose}
    >
      <p>
        Mail to <Foreign>{address}</Foreign> is refused from now on, unless another route takes it. What has come stays.
      </p>
    </Confirm>
  );
}
