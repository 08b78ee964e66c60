import { useInfiniteQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import type { AuditEntry } from '../../api/types';
import { Button } from '../../parts/button';
import { TextField } from '../../parts/field';
import { useFilters } from '../../parts/filters';
import { Card, Page } from '../../parts/page';
import { Empty, Loaded, Requires } from '../../parts/states';
import { Time } from '../../parts/text';

interface Entries {
  readonly data: readonly AuditEntry[];
  readonly nextCursor?: string;
}

export default function Audit() {
  return (
    <Requires scope="operator:read">
      <AuditPage />
    </Requires>
  );
}

function AuditPage() {
  const [{ action, organization }, change] = useFilters(['action', 'organization']);
  const query = useInfiniteQuery({
    queryKey: ['audit', action, organization],
    queryFn: ({ pageParam, signal }) =>
      get<Entries>(
        '/operator/v1/audit',
        { action, organization_id: organization, limit: 50, cursor: pageParam },
        signal,
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
  });
  const entries = query.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <Page title="Audit log" lead="Who changed what, in all organizations and in the installation.">
      <div className="filters" role="search">
        <TextField
          key={`a${action}`}
          label="Action"
          placeholder="organization.suspended"
          defaultValue={action}
          onBlur={(event) => change({ action: event.target.value.trim() })}
        />
        <TextField
          key={`o${organization}`}
          label="Organization (id)"
          defaultValue={organization}
          onBlur={(event) => change({ organization: event.target.value.trim() })}
        />
      </div>
      <Card flush>
        <Loaded query={query}>
          {() =>
            entries.length === 0 ? (
              <Empty icon="audit" title="Nothing was changed">
                {action || organization
                  ? 'Nothing like that, at least.'
                  : 'Changes stand here as soon as they are made.'}
              </Empty>
            ) : (
              <>
                <Table entries={entries} />
                {query.hasNextPage && (
                  <div className="pager">
                    <Button small busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
                      Show more
                    </Button>
                  </div>
                )}
              </>
            )
          }
        </Loaded>
      </Card>
    </Page>
  );
}

function Table({ entries }: { entries: readonly AuditEntry[] }) {
  return (
    <div className="table-wrap">
      <table className="stacking">
        <caption className="visually-hidden">Audit log, newest first</caption>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Action</th>
            <th scope="col">Who</th>
            <th scope="col">Organization</th>
            <th scope="col">What it was done to</th>
          </tr>
        </thead>
        <tbody>
          {entries.map(({ id, at, action, actor, organizationId, target, details }) => (
            <tr key={id}>
              <td className="soft">
                <Time at={at} />
              </td>
              <td>
                <code>{action}</code>
              </td>
              <td className="wide break" data-label="Who">
                <code>{actor}</code>
              </td>
              <td className="wide break" data-label="Organization">
                {organizationId ? <code>{organizationId}</code> : <span className="soft">the installation</span>}
              </td>
              <td className="wide break">
                <bdi>
                  {target.type} <code>{target.id}</code>
                </bdi>
                <details>
                  <summary>More</summary>
                  <code className="break">{JSON.stringify(details)}</code>
                </details>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
