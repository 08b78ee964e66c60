import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { get } from '../../api/client';
import { forPages, SELDOM } from '../../api/query-client';
import { useSession } from '../../api/session';
import type { AuditEntry } from '../../api/types';
import { detailsOf, whoActed } from '../../parts/audit-words';
import { useFilters } from '../../parts/filters';
import { words } from '../../parts/format';
import { FilterBar } from '../../parts/filter-bar';
import { type Column, ListCard, More } from '../../parts/list';
import { OrganizationName } from '../../parts/organization-name';
import { Page } from '../../parts/page';
import { Requires } from '../../parts/states';
import { Foreign, Time } from '../../parts/text';

interface Entries {
  readonly data: readonly AuditEntry[];
  readonly nextCursor?: string;
}

const COLUMNS: readonly Column<AuditEntry>[] = [
  { name: 'When', look: 'soft', cell: ({ at }) => <Time at={at} /> },
  { name: 'Action', isBare: true, cell: ({ action }) => <code>{action}</code> },
  { name: 'Who', look: 'wide break', cell: ({ actor }) => <Who actor={actor} /> },
  {
    name: 'Organization',
    look: 'wide break',
    cell: ({ organizationId }) =>
      organizationId ? <OrganizationLink id={organizationId} /> : <span className="soft">the installation</span>,
  },
  {
    name: 'Target',
    look: 'wide break',
    isBare: true,
    cell: ({ target, details }) => (
      <>
        <Foreign>
          <Target {...target} />
        </Foreign>
        <Details details={details} />
      </>
    ),
  },
];

function Who({ actor }: { actor: string }) {
  const { who, id } = whoActed(actor, useSession().key);
  return (
    <>
      <Foreign>{who}</Foreign>
      {id !== undefined && (
        <div className="hint">
          <code>{id}</code>
        </div>
      )}
    </>
  );
}

function OrganizationLink({ id }: { id: string }) {
  return (
    <Link href={`/organizations?q=${encodeURIComponent(id)}`}>
      <OrganizationName id={id} />
    </Link>
  );
}

function Target({ type, id }: AuditEntry['target']) {
  if (type === 'installation') return 'The installation';
  return (
    <>
      {words(type).replace(/^Api/, 'API')} {type === 'organization' ? <OrganizationName id={id} /> : <code>{id}</code>}
    </>
  );
}

function Details({ details }: { details: object }) {
  const facts = detailsOf(details);
  if (facts.length === 0) return null;
  return (
    <details>
      <summary>More</summary>
      <ul className="hint">
        {facts.map(([name, value]) => (
          <li key={name} className="break">
            {name}: <Foreign>{value}</Foreign>
          </li>
        ))}
      </ul>
    </details>
  );
}

export default function Audit() {
  return (
    <Requires scope="operator:read">
      <AuditPage />
    </Requires>
  );
}

function AuditPage() {
  const [filters, change] = useFilters(['action', 'organization', 'target']);
  const { action, organization, target } = filters;
  const query = useInfiniteQuery({
    queryKey: ['audit', action, organization, target],
    queryFn: ({ pageParam, signal }) =>
      get<Entries>(
        '/operator/v1/audit',
        { action, organization_id: organization, target_id: target, limit: 50, cursor: pageParam },
        signal,
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: (query) => forPages(SELDOM(query), query.state.data),
  });
  const isFiltered = action !== '' || organization !== '' || target !== '';
  return (
    <Page title="Audit log" lead="Changes made by operators, API keys and the service, across all organizations.">
      <FilterBar
        filters={[
          { name: 'action', label: 'Action', placeholder: 'organization.suspended' },
          {
            name: 'organization',
            label: 'Organization (id)',
            hint: organization && <OrganizationName id={organization} />,
          },
          { name: 'target', label: 'Target (id)' },
        ]}
        values={filters}
        change={change}
      />
      <ListCard
        query={query}
        rowsOf={({ pages }) => pages.flatMap((page) => page.data)}
        keyOf={({ id }) => id}
        caption="Audit log, newest first"
        columns={COLUMNS}
        empty={{
          icon: 'audit',
          title: isFiltered ? 'No matching entries' : 'No entries yet',
          text: isFiltered ? 'Ids must match in full.' : 'Changes appear here as soon as they are made.',
        }}
        pager={() => <More query={query} />}
      />
    </Page>
  );
}
