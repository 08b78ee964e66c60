import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import type { Data, Worker } from '../../api/types';
import { count } from '../../parts/format';
import { type Column, ListCard } from '../../parts/list';
import { Page } from '../../parts/page';
import { Requires } from '../../parts/states';
import { Foreign, Time } from '../../parts/text';

const COLUMNS: readonly Column<Worker>[] = [
  { name: 'Host', look: 'break', cell: ({ host }) => <Foreign>{host}</Foreign> },
  { name: 'Process', cell: ({ pid }) => pid },
  { name: 'Release', cell: ({ version }) => version ?? 'unknown' },
  { name: 'In its hands', look: 'number', cell: ({ inFlight }) => count(inFlight) },
  { name: 'Started', look: 'soft', cell: ({ startedAt }) => <Time at={startedAt} /> },
  { name: 'Lease until', look: 'soft', cell: ({ leaseUntil }) => <Time at={leaseUntil} /> },
];

export default function Workers() {
  return (
    <Requires scope="operator:read">
      <WorkersPage />
    </Requires>
  );
}

function WorkersPage() {
  const query = useQuery({
    queryKey: ['workers'],
    queryFn: () => get<Data<Worker[]>>('/operator/v1/workers'),
    refetchInterval: 3_000,
  });
  return (
    <Page
      title="Workers"
      lead="The processes that send. When a worker dies, the others take over its deliveries once its lease has ended."
    >
      <ListCard
        query={query}
        rowsOf={({ data }) => data}
        keyOf={({ id }) => id}
        caption="Worker processes"
        columns={COLUMNS}
        empty={{
          icon: 'workers',
          title: 'No worker is running',
          text: 'Nothing is sent until a process with the role worker runs.',
        }}
      />
    </Page>
  );
}
