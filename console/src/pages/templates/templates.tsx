import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { get } from '../../api/client';
import type { Pagination, TemplateListItem } from '../../api/types';
import { ButtonLink } from '../../parts/button';
import { useFilters } from '../../parts/filters';
import { type Column, ListCard, PagesPager } from '../../parts/list';
import { Page } from '../../parts/page';
import { RequiresRight, useRights } from '../../parts/rights';
import { Foreign, Time } from '../../parts/text';

interface TemplateList {
  readonly data: readonly TemplateListItem[];
  readonly pagination: Pagination;
}

/** Test keys read and use templates, live keys make them. */
export function useMayChange(): boolean {
  return useRights()('template:manage');
}

export default function Templates() {
  return (
    <RequiresRight scope="template:read">
      <TemplatesPage />
    </RequiresRight>
  );
}

const COLUMNS: readonly Column<TemplateListItem>[] = [
  { name: 'Name', look: 'break', cell: ({ id, name }) => <Link href={`/templates/${id}`}>{name}</Link> },
  { name: 'Subject', look: 'wide break', isBare: true, cell: ({ subject }) => <Foreign>{subject}</Foreign> },
  { name: 'Variables', look: 'wide soft break', cell: ({ variables }) => variables.join(', ') || 'none' },
  { name: 'Version', look: 'number', cell: ({ version }) => version },
  { name: 'Changed', look: 'soft', cell: ({ updatedAt }) => <Time at={updatedAt} /> },
];

function TemplatesPage() {
  const mayChange = useMayChange();
  const [{ page }, change] = useFilters(['page']);
  const at = Math.max(1, Number(page) || 1);
  const turn = (to: number) => change({ page: String(to) });
  const query = useQuery({
    queryKey: ['templates', at],
    queryFn: () => get<TemplateList>('/v1/templates', { page: at, limit: 50 }),
    placeholderData: keepPreviousData,
  });
  const add = mayChange && (
    <ButtonLink to="/templates/new" kind="primary" icon="plus">
      Write a template
    </ButtonLink>
  );
  return (
    <Page
      title="Templates"
      lead="Mail that you write once and fill in with each send. Every change is a new version."
      actions={add}
    >
      <ListCard
        query={query}
        rowsOf={({ data }) => data}
        keyOf={({ id }) => id}
        caption="Templates, by name"
        columns={COLUMNS}
        empty={{
          icon: 'templates',
          title: 'No templates yet',
          text: 'A send names a template and its variables instead of a subject and html.',
          action: add,
        }}
        pager={({ pagination }) => <PagesPager page={at} pagination={pagination} what="template" turn={turn} />}
      />
    </Page>
  );
}
