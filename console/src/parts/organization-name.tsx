import { useQuery } from '@tanstack/react-query';
import { get } from '../api/client';
import type { Data, Organization } from '../api/types';
import { Foreign } from './text';

const FRESH_MS = 60_000;
const MOST = 100;

/** For operators: its name, once it is loaded, because people do not recognize organizations by their ids. */
export function OrganizationName({ id }: { id: string }) {
  // One request is enough for most installations; larger ones request the missing names.
  const first = useQuery({
    queryKey: ['organizations', 'names'],
    queryFn: () => get<Data<Organization[]>>('/operator/v1/organizations', { limit: MOST }),
    staleTime: FRESH_MS,
  });
  const known = first.data?.data.find((organization) => organization.id === id);
  const one = useQuery({
    queryKey: ['organizations', 'one', id],
    queryFn: () => get<Data<Organization>>(`/operator/v1/organizations/${encodeURIComponent(id)}`),
    enabled: !first.isPending && known === undefined,
    staleTime: FRESH_MS,
    retry: false,
  });
  const name = known?.name ?? one.data?.data.name;
  return name === undefined ? <code>{id}</code> : <Foreign title={id}>{name}</Foreign>;
}
