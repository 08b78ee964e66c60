import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import type { Data, Destination, QueueShare } from '../../api/types';
import { count, plural } from '../../parts/format';
import { Loaded } from '../../parts/states';

const SHARES = 500;
/** The service names this many domains of a destination: there may be more. */
const KNOWN_DOMAINS = 20;
const LIVE_MS = 10_000;

interface Open {
  readonly open: number;
  readonly orMore: boolean;
}

const readShares = async (): Promise<readonly QueueShare[]> =>
  (await get<Data<QueueShare[]>>('/operator/v1/queue', { by: 'destination', limit: SHARES })).data;

/** Open deliveries to some domains, as far as the largest shares of the queue tell. */
function openIn(shares: readonly QueueShare[], domains: readonly string[]): Open & { readonly others: string[] } {
  const found = shares.filter(({ key }) => domains.includes(key));
  const open = found.reduce((sum, { ready, waiting, claimed, held }) => sum + ready + waiting + claimed + held, 0);
  const others = shares.length < SHARES ? [] : domains.filter((domain) => !found.some(({ key }) => key === domain));
  return { open, others, orMore: domains.length >= KNOWN_DOMAINS };
}

/** The same, and those beyond the largest shares one by one. */
async function openFor(domains: readonly string[]): Promise<Open> {
  const { others, ...found } = openIn(await readShares(), domains);
  let { open, orMore } = found;
  for (const destination of others) {
    const query = { destination, limit: 100 };
    const page = await get<{ data: unknown[]; nextCursor?: string }>('/operator/v1/queue/deliveries', query);
    open += page.data.length;
    orMore ||= page.nextCursor !== undefined;
  }
  return { open, orMore };
}

function useOpen({ domains }: Destination, freshMs?: number) {
  return useQuery({
    queryKey: ['queue', 'destination', domains],
    queryFn: () => openFor(domains),
    ...(freshMs !== undefined && { refetchInterval: freshMs }),
  });
}

/** “–” where no domain of the destination is known. */
const said = ({ open, orMore }: Open, domains: readonly string[]): string =>
  domains.length === 0 ? '–' : `${orMore ? '≥ ' : ''}${count(open)}`;

/** The mail that is on its way to a destination, as a figure of its page. */
export function useOpenFigure(destination: Destination) {
  const { data } = useOpen(destination, LIVE_MS);
  const isKnown = destination.domains.length > 0;
  return {
    name: 'In the queue',
    value: data ? said(data, destination.domains) : '…',
    note: isKnown ? 'open deliveries' : 'its domains are not known',
  };
}

/** The mail that is on its way to each destination of a list: with one request, however many they are. */
export function useOpenOf(): (destination: Destination) => string {
  const { data: shares } = useQuery({ queryKey: ['queue', 'shares'], queryFn: readShares, refetchInterval: LIVE_MS });
  return ({ domains }) => {
    if (!shares) return '…';
    const { open, orMore, others } = openIn(shares, domains);
    return said({ open, orMore: orMore || others.length > 0 }, domains);
  };
}

/** The part of the queue for a destination, by its known domains. */
export function Waiting({ destination }: { destination: Destination }) {
  return (
    <Loaded query={useOpen(destination)} lines={1}>
      {({ open, orMore }) => (
        <p>
          {orMore && 'At least '}
          {plural(open, 'open delivery is', 'open deliveries are')} for it now.
        </p>
      )}
    </Loaded>
  );
}
