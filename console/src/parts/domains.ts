import { useQuery } from '@tanstack/react-query';
import { get } from '../api/client';
import { useMay } from '../api/session';
import type { Data, Domain } from '../api/types';
import type { Option } from './field';
import { count } from './format';

interface DomainList extends Data<Domain[]> {
  readonly total: number;
  readonly nextCursor?: string;
}

/** Of a page of the service, which is also one of the list. */
export const DOMAINS_A_PAGE = 100;
/** Read at most, to choose from and to watch: 3 MB. */
const MOST_PAGES = 10;

/** Of the option that says that there are more. */
const OTHERS = 'others';

export interface DomainFilter {
  /** A part of the name. */
  readonly q?: string;
  readonly status?: string;
  /** `true`: only those that are slowed or paused. */
  readonly restricted?: string;
}

export const readDomains = (page: number, signal?: AbortSignal, filter: DomainFilter = {}): Promise<DomainList> =>
  get<DomainList>('/v1/domains', { ...filter, page, limit: DOMAINS_A_PAGE }, signal);

/** All pages, one after another: their limit is shared with what else the page loads. */
async function readAll({ signal }: { readonly signal: AbortSignal }): Promise<DomainList> {
  let { data: domains, total, nextCursor: cursor } = await readDomains(1, signal);
  for (let page = 2; page <= MOST_PAGES && cursor !== undefined; page += 1) {
    const next: DomainList = await get('/v1/domains', { cursor, limit: DOMAINS_A_PAGE }, signal);
    domains = [...domains, ...next.data];
    ({ total, nextCursor: cursor } = next);
  }
  return { data: domains, total };
}

/** The domains of the organization, as far as the key may see them. @param freshMs how often they are loaded again */
export function useDomains(freshMs?: number) {
  const may = useMay();
  return useQuery({
    queryKey: ['domains'],
    queryFn: readAll,
    enabled: may('domain:read'),
    ...(freshMs === undefined ? { staleTime: 60_000 } : { refetchInterval: freshMs }),
  });
}

/**
 * To choose one of them, or all.
 * @param chosen its id: of one that has been removed too, as the filter applies
 * @param where those that are too many to offer can be chosen
 */
export function domainOptions(
  { data: domains, total }: DomainList,
  all: string,
  nameOf = (name: string) => name,
  chosen = '',
  where = 'from their pages under Domains',
): Option[] {
  const isGone = chosen !== '' && domains.every(({ id }) => id !== chosen);
  const others = total - domains.length;
  return [
    { value: '', label: all },
    ...domains.map(({ id, domain }) => ({ value: id, label: nameOf(domain) })),
    ...(isGone ? [{ value: chosen, label: others > 0 ? 'Another domain' : 'A removed domain' }] : []),
    ...(others > 0 ? [{ value: OTHERS, label: `${count(others)} more, ${where}`, disabled: true }] : []),
  ];
}

/** Why a domain may not send as it likes. */
export const CAUSES: Readonly<Record<string, string>> = {
  bounces: 'too many of its emails bounced',
  complaints: 'too many recipients reported its mail as spam',
  operator: 'an operator restricted it',
};
