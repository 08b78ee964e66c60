import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import type { Data, Worker } from '../../api/types';
import { count } from '../../parts/format';
import { Card, Page } from '../../parts/page';
import { Empty, Loaded, Requires } from '../../parts/states';
import { Time } from '../../parts/text';

export default function Workers() {
  const query = useQuery({
    queryKey: ['workers'],
    queryFn: () => get<Data<Worker[]>>('/operator/v1/workers'),
    refetchInterval: 3_000,
  });
  return (
    <Requires scope="operator:read">
      <Page
        title="Workers"
        lead="Who sends. A worker that dies loses what it holds to the others once its lease has ended."
      >
        <Card flush>
          <Loaded query={query}>
            {({ data }) =>
              data.length === 0 ? (
                <Empty icon="workers" title="No worker is alive">
                  Nothing is sent until a process with the role worker runs.
                </Empty>
              ) : (
                <Table workers={data} />
              )
            }
          </Loaded>
        </Card>
      </Page>
    </Requires>
  );
}

function Table({ workers }: { workers: readonly Worker[] }) {
  return (
    <div className="table-wrap">
      <table className="stacking">
        <caption className="visually-hidden">Worker processes</caption>
        <thead>
          <tr>
            <th scope="col">Host</th>
            <th scope="col">Process</th>
            <th scope="col">Release</th>
            <th scope="col" className="number">
              In its hands
            </th>
            <th scope="col">Started</th>
            <th scope="col">Lease until</th>
          </tr>
        </thead>
        <tbody>
          {workers.map(({ id, host, pid, version, inFlight, startedAt, leaseUntil }) => (
            <tr key={id}>
              <td className="break">
                <bdi>{host}</bdi>
              </td>
              <td data-label="Process">{pid}</td>
              <td data-label="Release">{version ?? 'unknown'}</td>
              <td className="number" data-label="In its hands">
                {count(inFlight)}
              </td>
              <td className="soft" data-label="Started">
                <Time at={startedAt} />
              </td>
              <td className="soft" data-label="Lease until">
                <Time at={leaseUntil} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
