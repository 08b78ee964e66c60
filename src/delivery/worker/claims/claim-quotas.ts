import type { Quota } from '../../queue/sql/claim-deliveries.sql';

/** Destinations of one organization that a claim takes from. */
const MOST_DESTINATIONS = 32;

/** What a claim may take for a destination now. */
export interface GroupRoom {
  /** Its group, which takes no more in all. */
  readonly key: string;
  readonly limit: number;
}

/** What a claim may take of one organization. */
export interface TenantQuotas {
  readonly quotas: readonly Quota[];
  /** More destinations that may take mail would be worth having: those that were looked at are too few. */
  readonly wantsMore: boolean;
}

/**
 * Divides the share of an organization equally among the first of its destinations that may take mail. All that belong to one group
 * take no more than the group may: of a large receiver that takes one more mail, one is claimed, not one for each of its domains.
 */
export function quotasOf(
  organizationId: string,
  share: number,
  destinations: readonly string[],
  roomOf: (destination: string) => GroupRoom,
): TenantQuotas {
  const wanted = Math.min(MOST_DESTINATIONS, share);
  const left = new Map<string, number>();
  const chosen: { readonly destination: string; readonly key: string }[] = [];
  for (const destination of destinations) {
    if (chosen.length === wanted) break;
    const { key, limit } = roomOf(destination);
    const room = left.get(key) ?? limit;
    if (room < 1) continue;
    left.set(key, room - 1);
    chosen.push({ destination, key });
  }
  const quotas = chosen.map(({ destination, key }, n) => {
    const part = Math.floor(share / chosen.length) + (n < share % chosen.length ? 1 : 0);
    const beyondFirst = Math.min(part - 1, left.get(key) ?? 0);
    left.set(key, (left.get(key) ?? 0) - beyondFirst);
    return { organizationId, destination, most: 1 + beyondFirst };
  });
  return { quotas, wantsMore: chosen.length < wanted };
}
