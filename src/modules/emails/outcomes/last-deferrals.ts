import type { LastDeferral } from '../../../delivery/queue/waiting';
import type { StoredTrace } from './stored-trace';

/** What is read of an event. */
interface Facts {
  readonly eventType: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly trace: StoredTrace | null;
}

/** What each recipient's last attempt came to, by address. @param events of one email, in their order */
export function lastDeferrals(events: readonly Facts[]): Map<string, LastDeferral> {
  const deferrals = events.filter(({ eventType }) => eventType === 'deferred' || eventType === 'unknown');
  return new Map(
    deferrals.map(({ data, trace }) => [
      String(data.recipient),
      {
        ...{ reason: textOf(data.reason), response: textOf(data.response), explanation: textOf(data.explanation) },
        ...{ action: trace?.action, mxHost: textOf(data.mxHost) },
      },
    ]),
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
