import { useQuery } from '@tanstack/react-query';
import { get } from '../api/client';
import { useMay } from '../api/session';
import type { Data, Domain } from '../api/types';
import type { Option } from './field';

/** The domains of the organization, as far as the key may see them. @param freshMs how often they are loaded again */
export function useDomains(freshMs?: number) {
  const may = useMay();
  return useQuery({
    queryKey: ['domains'],
    queryFn: () => get<Data<Domain[]>>('/v1/domains'),
    enabled: may('domain:read'),
    ...(freshMs === undefined ? { staleTime: 60_000 } : { refetchInterval: freshMs }),
  });
}

/** To choose one of them, or all. @param chosen its id: of one that has been removed too, as the filter applies */
export function domainOptions(
  domains: readonly Domain[],
  all: string,
  nameOf = (name: string) => name,
  chosen = '',
): Option[] {
  const isGone = chosen !== '' && domains.every(({ id }) => id !== chosen);
  return [
    { value: '', label: all },
    ...domains.map(({ id, domain }) => ({ value: id, label: nameOf(domain) })),
    ...(isGone ? [{ value: chosen, label: 'A removed domain' }] : []),
  ];
}

/** Why a domain may not send as it likes. */
export const CAUSES: Readonly<Record<string, string>> = {
  bounces: 'too many of its mails have bounced',
  complaints: 'too many recipients have reported its mail as spam',
  operator: 'the operator has decided so',
};
