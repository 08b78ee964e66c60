import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { get } from '../../api/client';
import { useMay, useSession } from '../../api/session';
import type { Pagination, TemplateListItem } from '../../api/types';
import { Button, ButtonLink } from '../../parts/button';
import { useFilters } from '../../parts/filters';
import { count } from '../../parts/format';
import { Card, Page } from '../../parts/page';
import { Empty, Loaded, Requires } from '../../parts/states';
import { Time } from '../../parts/text';

interface TemplateList {
  readonly data: readonly TemplateListItem[];
  readonly pagination: Pagination;
}

/** Test keys read and use templates, live keys make them. */
export function useMayChange(): boolean {
  const may = useMay();
  return useSession().key.mode === 'live' && may('template:manage');
}

export default function Templates() {
  return (
    <Requires scope="template:read">
      <TemplatesPage />
    </Requires>
  );
}

function TemplatesPage() {
  const mayChange = useMayChange();
  const [{ page }, change] = useFilters(['page']);
  const at = Math.max(1, Number(page) || 1);
  const query = useQuery({
    queryKey: ['templates', at],
    queryFn: () => get<TemplateList>('/v1/templates', { page: at, limit: 50 }),
  });
  const add = mayChange && (
    <ButtonLink to="/templates/new" kind="primary" icon="plus">
      Write a template
    </ButtonLink>
  );
  return (
    <Page
      title="Templates"
      lead="Mail that is written once and filled in at each send. Every change is a new version."
      actions={add}
    >
      <Card flush>
        <Loaded query={query}>
          {({ data, pagination }) =>
            data.length === 0 ? (
              <Empty icon="templates" title="No templates yet" action={add}>
                A send names one and gives its variables, in place of subject and html.
              </Empty>
            ) : (
              <>
                <Table templates={data} />
                <div className="pager">
                  <span>{count(pagination.total)} in all</span>
                  {pagination.totalPages > 1 && (
                    <span className="row">
                      <Button small disabled={at <= 1} onClick={() => change({ page: String(at - 1) })}>
                        Back
                      </Button>
                      <Button
                        small
                        disabled={at >= pagination.totalPages}
                        onClick={() => change({ page: String(at + 1) })}
                      >
                        On
                      </Button>
                    </span>
                  )}
                </div>
              </>
            )
          }
        </Loaded>
      </Card>
    </Page>
  );
}

function Table({ templates }: { templates: readonly TemplateListItem[] }) {
  return (
    <div className="table-wrap">
      <table className="stacking">
        <caption className="visually-hidden">Templates, by name</caption>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Subject</th>
            <th scope="col">Variables</th>
            <th scope="col" className="number">
              Version
            </th>
            <th scope="col">Changed</th>
          </tr>
        </thead>
        <tbody>
          {templates.map(({ id, name, subject, variables, version, updatedAt }) => (
            <tr key={id}>
              <td className="break">
                <Link href={`/templates/${id}`}>{name}</Link>
              </td>
              <td className="wide break">
                <bdi>{subject}</bdi>
              </td>
              <td className="wide soft break" data-label="Variables">
                {variables.join(', ') || 'none'}
              </td>
              <td className="number" data-label="Version">
                {version}
              </td>
              <td className="soft" data-label="Changed">
                <Time at={updatedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
