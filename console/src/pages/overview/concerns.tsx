import type { ReactNode } from 'react';
import type { Domain, Webhook } from '../../api/types';
import { CAUSES } from '../../parts/domains';
import { plural } from '../../parts/format';
import { Foreign, Time } from '../../parts/text';

type Tone = 'warn' | 'bad';

/** A problem that needs an action, with a link to where it is taken. */
export interface Concern {
  readonly key: string;
  readonly tone: Tone;
  readonly text: ReactNode;
  readonly to: string;
  readonly action: string;
}

/** One of a kind that many domains or webhooks may have. */
interface KindOfConcern extends Concern {
  readonly kind: Kind;
}

/** What is said of many, instead of each. */
const OF_MANY = {
  restricted: 'are paused or slowed',
  failed: 'are no longer verified: their ownership records are gone',
  pending: 'are not verified yet',
  dkim: 'have no DKIM record: their mail is likely to be treated as spam',
  warming: 'have a paused warm-up, because of bounces or complaints',
  disabled: 'are disabled, because they returned 410 or failed for five days',
  failing: 'are failing',
} as const;
type Kind = keyof typeof OF_MANY;

/** Where only those of a kind are listed. */
const DOMAINS_OF: Partial<Record<Kind, string>> = {
  restricted: '/domains?restricted=true',
  failed: '/domains?status=failed',
  pending: '/domains?status=pending',
};
const OF_WEBHOOKS: readonly Kind[] = ['disabled', 'failing'];
/** More of a kind would push the figures out of sight. */
const MOST_OF_A_KIND = 3;

/** The worst first; of many of a kind, only their number. */
export function summarized(concerns: readonly (Concern | KindOfConcern)[]): Concern[] {
  const kindOf = (concern: Concern): Kind | undefined => ('kind' in concern ? (concern.kind as Kind) : undefined);
  const few: Concern[] = [];
  const many = new Map<Kind, Concern>();
  for (const concern of concerns) {
    const kind = kindOf(concern);
    const alike = kind === undefined ? 1 : concerns.filter((each) => kindOf(each) === kind).length;
    if (kind === undefined || alike <= MOST_OF_A_KIND) few.push(concern);
    else if (!many.has(kind)) many.set(kind, inOne(kind, concern.tone, alike));
  }
  const all = [...few, ...many.values()];
  return all.toSorted((one, other) => Number(other.tone === 'bad') - Number(one.tone === 'bad'));
}

function inOne(kind: Kind, tone: Tone, alike: number): Concern {
  const isOfWebhooks = OF_WEBHOOKS.includes(kind);
  const text = (
    <>
      <strong>{plural(alike, isOfWebhooks ? 'webhook' : 'domain')}</strong> {OF_MANY[kind]}.
    </>
  );
  const [to, action] = isOfWebhooks
    ? ['/webhooks', 'See the webhooks']
    : [DOMAINS_OF[kind] ?? '/domains', 'See the domains'];
  return { key: kind, tone, text, to, action };
}

/** Of an organization that has only just begun. */
export function noDomain(): Concern {
  return {
    key: 'none',
    tone: 'warn',
    text: 'No domain is registered yet. You need one to send from.',
    to: '/domains',
    action: 'Add a domain',
  };
}

/** What is wrong with a domain. */
export function concernsOf(domain: Domain): KindOfConcern[] {
  const { id, verification_status, dkim_status, warming_status, sending_status, sending_status_reason } = domain;
  const name = (
    <strong>
      <Foreign>{domain.domain}</Foreign>
    </strong>
  );
  const to = `/domains/${id}`;
  const concerns: KindOfConcern[] = [];
  const add = (kind: Kind, tone: Tone, text: ReactNode, action: string) =>
    concerns.push({ key: `${id}-${kind}`, kind, tone, text, to, action });
  if (sending_status !== undefined) {
    const what = sending_status === 'paused' ? 'is paused' : 'is slowed';
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
    add('failed', 'bad', <>{name} is no longer verified: its ownership record is gone.</>, 'See the records');
  }
  if (verification_status === 'pending') add('pending', 'warn', <>{name} is not verified yet.</>, 'See the records');
  if (verification_status === 'verified' && dkim_status === 'failed') {
    add('dkim', 'bad', <>{name} has no DKIM record: its mail is likely to be treated as spam.</>, 'See the records');
  }
  if (warming_status === 'paused') {
    add('warming', 'warn', <>The warm-up of {name} is paused, because of bounces or complaints.</>, 'See why');
  }
  return concerns;
}

/** What is wrong with a webhook. */
export function concernOfWebhook({ id, url, enabled, disabledReason, failingSince }: Webhook): KindOfConcern[] {
  const name = (
    <strong className="break">
      <Foreign>{url}</Foreign>
    </strong>
  );
  const to = `/webhooks/${id}`;
  if (!enabled && disabledReason !== undefined && disabledReason !== 'request') {
    return [
      {
        key: id,
        kind: 'disabled',
        tone: 'bad',
        text: (
          <>
            The webhook {name} is disabled: {disabledReason === 'gone' ? 'it returned 410' : 'it failed for five days'}.
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
        kind: 'failing',
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
