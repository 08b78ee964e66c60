import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { get } from '../../api/client';
import { useMay } from '../../api/session';
import { useRights } from '../../parts/rights';
import type { Data, Domain, Suppression, Webhook } from '../../api/types';
import { ButtonLink } from '../../parts/button';
import { CAUSES, useDomains } from '../../parts/domains';
import { plural } from '../../parts/format';
import { usePeriod, useStats } from '../../parts/stats';
import { Time } from '../../parts/text';
import { isSpike } from './is-spike';

interface Concern {
  readonly key: string;
  readonly tone: 'warn' | 'bad';
  readonly text: ReactNode;
  readonly to: string;
  readonly action: string;
}

const FRESH_MS = 120_000;

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
  const concerns = [
    ...(domains.data?.data ?? []).flatMap(concernsOf),
    ...(webhooks.data?.data ?? []).flatMap(concernOfWebhook),
    ...useSpike(),
  ];
  if (domains.data?.data.length === 0) concerns.push(noDomain());
  if (concerns.length === 0) return null;
  return (
    <section className="stack" aria-label="What needs attention">
      {concerns.map(({ key, tone, text, to, action }) => (
        <div key={key} className={`notice ${tone}`}>
          <div>{text}</div>
          <ButtonLink to={to}>{action}</ButtonLink>
        </div>
      ))}
    </section>
  );
}

function noDomain(): Concern {
  return {
    key: 'none',
    tone: 'warn',
    text: 'No domain is registered yet: mail needs one to be sent from.',
    to: '/domains',
    action: 'Add a domain',
  };
}

function concernsOf(domain: Domain): Concern[] {
  const { id, verification_status, dkim_status, warming_status, sending_status, sending_status_reason } = domain;
  const name = (
    <strong>
      <bdi>{domain.domain}</bdi>
    </strong>
  );
  const to = `/domains/${id}`;
  const concerns: Concern[] = [];
  const add = (key: string, tone: Concern['tone'], text: ReactNode, action: string) =>
    concerns.push({ key: `${id}-${key}`, tone, text, to, action });
  if (sending_status !== undefined) {
    const what = sending_status === 'paused' ? 'may not send' : 'may send less than usual';
    add(
      'restricted',
      'bad',
      <>
        {name} {what}: {CAUSES[sending_status_reason ?? ''] ?? 'the cause is not known'}.
      </>,
      'See why',
    );
  }
  if (verification_status === 'failed') {
    add('failed', 'bad', <>{name} is not verified any more: its ownership record is gone.</>, 'See the records');
  }
  if (verification_status === 'pending') add('pending', 'warn', <>{name} is not verified yet.</>, 'See the records');
  if (verification_status === 'verified' && dkim_status === 'failed') {
    add('dkim', 'bad', <>{name} has no DKIM record: its mail is likely to be taken for spam.</>, 'See the records');
  }
  if (warming_status === 'paused') {
    add('warming', 'warn', <>The warm-up of {name} is paused, because of bounces or complaints.</>, 'See why');
  }
  return concerns;
}

function concernOfWebhook({ id, url, enabled, disabledReason, failingSince }: Webhook): Concern[] {
  const name = (
    <strong className="break">
      <bdi>{url}</bdi>
    </strong>
  );
  const to = `/webhooks/${id}`;
  if (!enabled && disabledReason !== undefined && disabledReason !== 'request') {
    return [
      {
        key: id,
        tone: 'bad',
        text: (
          <>
            The webhook {name} is disabled: {disabledReason === 'gone' ? 'it answered 410' : 'it failed for five days'}.
          </>
        ),
        to,
        action: 'See its deliveries',
      },
    ];
  }
  if (enabled && failingSince !== undefined) {
    return [
      {
        key: id,
        tone: 'warn',
        text: (
          <>
            The webhook {name} has failed since <Time at={failingSince} />.
          </>
        ),
        to,
        action: 'See its deliveries',
      },
    ];
  }
  return [];
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
  const since = Date.now() - DAY_MS;
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
      <strong>{plural(found, 'address', 'addresses')}</strong> bounced for good or complained within the last 24 hours:
      see where they come from before more mail goes there.
    </>
  );
  return [{ key: 'spike', tone: 'warn', text, to: '/suppressions', action: 'See them' }];
}
