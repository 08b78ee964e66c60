import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import { useMay } from '../../api/session';
import { useRights } from '../../parts/rights';
import type { Data, Suppression, Webhook } from '../../api/types';
import { now } from '../../api/service-clock';
import { ButtonLink } from '../../parts/button';
import { useDomains } from '../../parts/domains';
import { plural } from '../../parts/format';
import { usePeriod, useStats } from '../../parts/stats';
import { type Concern, concernOfWebhook, concernsOf, noDomain, summarized } from './concerns';
import { isSpike } from './is-spike';

const FRESH_MS = 120_000;
/** At once: the figures below them have to be in sight. */
const SHOWN = 3;

/** Problems that need an action, each with a link. */
export function Attention() {
  const may = useMay();
  const domains = useDomains(FRESH_MS);
  const webhooks = useQuery({
    queryKey: ['webhooks'],
    queryFn: () => get<Data<Webhook[]>>('/v1/webhooks'),
    enabled: may('webhook:read'),
    refetchInterval: FRESH_MS,
  });
  const found: Concern[] = [
    ...(domains.data?.data ?? []).flatMap(concernsOf),
    ...(webhooks.data?.data ?? []).flatMap(concernOfWebhook),
    ...useSpike(),
  ];
  if (domains.data?.data.length === 0) found.push(noDomain());
  const concerns = summarized(found);
  if (concerns.length === 0) return null;
  return (
    <section className="stack concerns" aria-label="What needs attention">
      <Notices of={concerns.slice(0, SHOWN)} />
      {concerns.length > SHOWN && (
        <details>
          <summary>{plural(concerns.length - SHOWN, 'more problem')}</summary>
          <div className="stack concerns">
            <Notices of={concerns.slice(SHOWN)} />
          </div>
        </details>
      )}
    </section>
  );
}

function Notices({ of: concerns }: { of: readonly Concern[] }) {
  return concerns.map(({ key, tone, text, to, action }) => (
    <div key={key} className={`notice ${tone}`}>
      <div>{text}</div>
      <ButtonLink to={to}>{action}</ButtonLink>
    </div>
  ));
}

interface NewSuppressions {
  readonly count: number;
  /** There are more than were looked at. */
  readonly orMore: boolean;
}

const DAY_MS = 86_400_000;
const LOOKED_AT = 100;

/** Addresses that have put themselves on the list within the last day. */
async function readNewSuppressions(): Promise<NewSuppressions> {
  const { data } = await get<Data<Suppression[]>>('/v1/suppressions', { limit: LOOKED_AT });
  const since = now() - DAY_MS;
  const fresh = data.filter(({ source, suppressedAt }) => source === 'automatic' && Date.parse(suppressedAt) > since);
  return { count: fresh.length, orMore: data.length === LOOKED_AT && fresh.length === LOOKED_AT };
}

/** More bounces and complaints than a list of living addresses has. */
function useSpike(): Concern[] {
  const may = useRights();
  const isSeen = may('suppression:read') && may('stats:read');
  const fresh = useQuery({
    queryKey: ['suppressions', 'new'],
    queryFn: readNewSuppressions,
    enabled: isSeen,
    refetchInterval: FRESH_MS,
  });
  const stats = useStats(usePeriod(24), '', isSeen);
  const { count: found = 0, orMore = false } = fresh.data ?? {};
  if (!isSpike(found, stats.data?.data.stats.total)) return [];
  const text = (
    <>
      {orMore && 'At least '}
      <strong>{plural(found, 'address', 'addresses')}</strong> bounced permanently or complained within the last 24
      hours: see where they come from before more mail goes there.
    </>
  );
  return [{ key: 'spike', tone: 'warn', text, to: '/suppressions', action: 'See them' }];
}
