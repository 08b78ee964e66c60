import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { post } from '../../api/client';
import type { Data, Domain } from '../../api/types';
import { Button } from '../../parts/button';
import { useGoOn } from '../../parts/change';
import { FormDialog } from '../../parts/dialog';
import { DOMAINS_A_PAGE, readDomains } from '../../parts/domains';
import { anyOf, bound, TextField } from '../../parts/field';
import { useFilters } from '../../parts/filters';
import { count } from '../../parts/format';
import { type Filter, FilterBar } from '../../parts/filter-bar';
import { type Column, ListCard, PagesPager } from '../../parts/list';
import { Page } from '../../parts/page';
import { useRights } from '../../parts/rights';
import { Requires } from '../../parts/states';
import { Badge, Foreign, Time } from '../../parts/text';
import { useScores } from './reputation';

const SENDING = [
  { value: '', label: 'Any' },
  { value: 'true', label: 'Slowed or paused' },
];
const FILTERS: readonly Filter<'q' | 'status' | 'restricted'>[] = [
  { name: 'q', label: 'Name', placeholder: 'example.com' },
  { name: 'status', label: 'Ownership', options: anyOf(['verified', 'pending', 'failed']) },
  { name: 'restricted', label: 'Sending', options: SENDING },
];
/** So few are seen at a glance. */
const FEW = 10;

const columnsWith = (scoreOf: (domain: Domain) => ReactNode): readonly Column<Domain>[] => [
  {
    name: 'Domain',
    look: 'break',
    cell: ({ id, domain, is_default, sending_status }) => (
      <>
        <Link href={`/domains/${id}`}>
          <Foreign>{domain}</Foreign>
        </Link>{' '}
        {is_default && <span className="badge plain">default</span>}{' '}
        {sending_status && <Badge status={sending_status} />}
      </>
    ),
  },
  { name: 'Ownership', cell: ({ verification_status }) => <Badge status={verification_status} /> },
  {
    name: 'DKIM',
    cell: ({ dkim_status }) => (dkim_status ? <Badge status={dkim_status} /> : <span className="soft">none</span>),
  },
  {
    name: 'Warm-up',
    look: 'soft',
    cell: ({ warming_current_limit: limit }) => (limit === null ? 'no limit' : `${count(limit)} a day`),
  },
  { name: 'Reputation', look: 'number', cell: scoreOf },
  { name: 'Added', look: 'soft', cell: ({ created_at }) => <Time at={created_at} /> },
];

export default function Domains() {
  return (
    <Requires scope="domain:read">
      <DomainsPage />
    </Requires>
  );
}

function DomainsPage() {
  const rights = useRights();
  const scoreOf = useScores();
  const [adds, setAdds] = useState(false);
  const [isLong, setLong] = useState(false);
  const [{ q, status, restricted, page: shown }, filter] = useFilters(['q', 'status', 'restricted', 'page']);
  const page = Math.max(1, Number(shown) || 1);
  const turn = (to: number) => filter({ page: to === 1 ? '' : String(to) });
  const query = useQuery({
    queryKey: ['domains', q, status, restricted, page],
    queryFn: ({ signal }) => readDomains(page, signal, { q, status, restricted }),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  });
  const isFiltered = [q, status, restricted].some((value) => value !== '');
  const add = rights('domain:manage', { allDomains: true }) && (
    <Button kind="primary" icon="plus" onClick={() => setAdds(true)}>
      Add a domain
    </Button>
  );
  // Once there are filters they stay, whatever they find.
  if (!isLong && (isFiltered || (query.data?.total ?? 0) > FEW)) setLong(true);
  return (
    <Page title="Domains" lead="You can send from domains that you have verified." actions={add}>
      {isLong && <FilterBar filters={FILTERS} values={{ q, status, restricted }} change={filter} />}
      <ListCard
        query={query}
        rowsOf={({ data }) => data}
        keyOf={({ id }) => id}
        caption="Domains"
        columns={columnsWith(scoreOf)}
        empty={
          isFiltered
            ? { icon: 'search', title: 'No matching domains', text: 'Any part of the name matches.' }
            : {
                icon: 'domains',
                title: 'No domain yet',
                text: 'Add the domain that you send from, publish its DNS records, and verify it.',
                action: add,
              }
        }
        pager={({ total }) => (
          <PagesPager
            page={page}
            pagination={{ total, totalPages: Math.ceil(total / DOMAINS_A_PAGE) }}
            what="domain"
            turn={turn}
          />
        )}
      />
      {adds && <AddDomain onClose={() => setAdds(false)} />}
    </Page>
  );
}

function AddDomain({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const goOn = useGoOn();
  const [name, setName] = useState('');
  const add = async () => {
    const { data } = await post<Data<Domain>>('/v1/domains', { domain: name.trim() });
    await client.invalidateQueries({ queryKey: ['domains'] });
    goOn(`/domains/${data.id}`);
  };
  return (
    <FormDialog title="Add a domain" action="Add" onSubmit={add} onClose={onClose}>
      {(said) => (
        <TextField
          label="Domain"
          required
          {...bound(name, setName, said('domain'))}
          placeholder="mail.example.com"
          spellCheck={false}
          hint="A subdomain keeps its reputation separate from that of your main domain."
        />
      )}
    </FormDialog>
  );
}
