import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { get } from '../../api/client';
import { SELDOM } from '../../api/query-client';
import type { Pagination, TemplateListItem } from '../../api/types';
import { ButtonLink } from '../../parts/button';
import { type Filter, FilterBar } from '../../parts/filter-bar';
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

const FILTERS: readonly Filter<'q'>[] = [{ name: 'q', label: 'Name', placeholder: 'password-reset' }];
/** So few are seen at a glance. */
const FEW = 10;

function TemplatesPage() {
  const mayChange = useMayChange();
  const [isLong, setLong] = useState(false);
  const [{ q, page }, filter] = useFilters(['q', 'page']);
  const at = Math.max(1, Number(page) || 1);
  const turn = (to: number) => filter({ page: to === 1 ? '' : String(to) });
  const query = useQuery({
    queryKey: ['templates', q, at],
    queryFn: () => get<TemplateList>('/v1/templates', { page: at, limit: 50, q }),
    placeholderData: keepPreviousData,
    refetchInterval: SELDOM,
  });
  // Once it is there it stays, whatever is found.
  if (!isLong && (q !== '' || (query.data?.pagination.total ?? 0) > FEW)) setLong(true);
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
      {isLong && <FilterBar filters={FILTERS} values={{ q }} change={filter} />}
      <ListCard
        query={query}
        rowsOf={({ data }) => data}
        keyOf={({ id }) => id}
        caption="Templates, by name"
        columns={COLUMNS}
        empty={
          q === ''
            ? {
                icon: 'templates',
                title: 'No templates yet',
                text: 'A send names a template and its variables instead of a subject and html.',
                action: add,
              }
            : { icon: 'search', title: 'No matching templates', text: 'Any part of the name matches.' }
        }
        pager={({ pagination }) => <PagesPager page={at} pagination={pagination} what="template" turn={turn} />}
      />
    </Page>
  );
}
