import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { get } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, EgressPool } from '../../api/types';
import { Button } from '../../parts/button';
import { adviceForPool } from '../../parts/destination-words';
import { count, plural } from '../../parts/format';
import { type Column, Table } from '../../parts/list';
import { OrganizationName } from '../../parts/organization-name';
import { Card, Page } from '../../parts/page';
import { Loaded, Requires } from '../../parts/states';
import { Badge, Foreign, Time } from '../../parts/text';
import { type Address, type AskedEgress, EgressDialog } from './egress-dialog';

export default function Egress() {
  return (
    <Requires scope="operator:read">
      <EgressPage />
    </Requires>
  );
}

function EgressPage() {
  const query = useQuery({
    queryKey: ['egress'],
    queryFn: () => get<Data<EgressPool[]>>('/operator/v1/egress'),
    refetchInterval: 10_000,
  });
  return (
    <Page title="Egress" lead="The source addresses of mail by pool, and the receivers that refuse them.">
      <Loaded query={query}>
        {({ data }) => (
          <div className="stack">
            {data.map((pool) => (
              <Pool key={pool.pool} pool={pool} />
            ))}
          </div>
        )}
      </Loaded>
    </Page>
  );
}

function Pool({ pool }: { pool: EgressPool }) {
  const [asked, setAsked] = useState<AskedEgress>();
  const { why, what } = adviceForPool(pool);
  const isRefused = pool.addresses.some(({ state }) => state === 'suspended');
  return (
    <Card
      flush
      title={<Foreign>{pool.pool}</Foreign>}
      actions={pool.category && <span className="badge plain">{pool.category}</span>}
    >
      <div className="card-body stack">
        <div className={`notice ${isRefused ? 'bad' : ''}`}>
          <div>
            <strong>{why}</strong>
            <p>{what}</p>
          </div>
        </div>
        {pool.organizations.length > 0 && <Organizations ids={pool.organizations} />}
      </div>
      {pool.addresses.length > 0 && (
        <Table
          caption={`Addresses of the pool ${pool.pool}`}
          columns={columnsFor(setAsked)}
          rows={pool.addresses}
          keyOf={({ address }) => address}
        />
      )}
      {asked && <EgressDialog asked={asked} onClose={() => setAsked(undefined)} />}
    </Card>
  );
}

function Organizations({ ids }: { ids: readonly string[] }) {
  return (
    <p className="hint">
      For{' '}
      {ids.map((id, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <Link href={`/organizations?q=${encodeURIComponent(id)}`}>
            <OrganizationName id={id} />
          </Link>
        </span>
      ))}
    </p>
  );
}

type Ask = (asked: AskedEgress) => void;

function columnsFor(ask: Ask): readonly Column<Address>[] {
  return [
    { name: 'Address', cell: ({ address }) => <code>{address}</code> },
    { name: 'EHLO name', look: 'wide break', cell: ({ ehlo }) => <Foreign>{ehlo}</Foreign> },
    { name: 'State', isBare: true, cell: ({ state }) => <Badge status={state} /> },
    { name: 'Warm-up', look: 'wide', cell: (address) => <WarmUp address={address} /> },
    { name: 'Refused by', look: 'wide break', cell: (address) => <Suspensions address={address} ask={ask} /> },
    { name: 'Actions', isHidden: true, cell: (address) => <WarmUpActions address={address} ask={ask} /> },
  ];
}

function WarmUp({ address: { warmUp } }: { address: Address }) {
  if (!warmUp) return <span className="soft">no limit</span>;
  const { day, days, dailyVolume, providers } = warmUp;
  return (
    <>
      Day {day} of {days}: {count(dailyVolume)} a day to each receiver.
      {providers.length > 0 && (
        <details>
          <summary>Today, to {plural(providers.length, 'receiver')}</summary>
          {providers.map(({ provider, sent }) => `${provider} ${count(sent)}`).join(', ')}
        </details>
      )}
    </>
  );
}

function WarmUpActions({ address, ask }: { address: Address; ask: Ask }) {
  const may = useMay();
  // The choice of the system is no address of ours to warm up.
  if (!may('operator:manage') || address.address === 'default') return null;
  const name = <span className="visually-hidden"> of {address.address}</span>;
  return address.warmUp ? (
    <Button small onClick={() => ask({ what: 'skip', address })}>
      Skip warm-up{name}
    </Button>
  ) : (
    <Button small onClick={() => ask({ what: 'restart', address })}>
      Restart warm-up{name}
    </Button>
  );
}

function Suspensions({ address, ask }: { address: Address; ask: Ask }) {
  const may = useMay();
  if (address.suspensions.length === 0) return <span className="soft">nobody</span>;
  return (
    <ul className="stack">
      {address.suspensions.map(({ destination, cause, until }) => (
        <li key={destination}>
          <Link href={`/destinations/${encodeURIComponent(destination)}`}>
            <Foreign>{destination}</Foreign>
          </Link>
          , tried again <Time at={until} />
          <p className="reply">{cause}</p>
          {may('operator:manage') && (
            <Button small onClick={() => ask({ what: 'release', address, destination })}>
              Send again now<span className="visually-hidden"> to {destination}</span>
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}
