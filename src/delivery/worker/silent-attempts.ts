import { Tally } from '../../common/async/holder-turns';
import { SECOND } from '../../common/clock';
import type { ClaimedDelivery } from '../ports/delivery';
import type { Conversation } from '../smtp/conversation/smtp-connection';

/** Few servers delay a reply for longer on purpose; the limits of SMTP hold as long as no other mail waits. */
const SILENT_MS = 30 * SECOND;

/** An attempt that holds a slot. */
export interface Holder {
  readonly claim: Pick<ClaimedDelivery, 'organizationId'>;
  /** Its bytes are on the account of large mail. */
  readonly isLarge: boolean;
  readonly conversation: Pick<Conversation, 'waitingMs' | 'silentMs' | 'cutShort'>;
}

/**
 * What tenants hold beyond their share for as long as no other needs it, or all of them together, comes back when one with
 * less needs it: the attempt of the tenant with the most whose server has been silent for longest ends as after a time limit.
 * Never one whose final dot is out, which would make a duplicate.
 */
export class SilentAttempts {
  private readonly holders = new Set<Holder>();

  add(holder: Holder): void {
    this.holders.add(holder);
  }

  remove(holder: Holder): void {
    this.holders.delete(holder);
  }

  /** How long the attempt for a claim has been waiting for its server; 0 without an attempt. */
  waitingMs(claim: ClaimedDelivery): number {
    for (const holder of this.holders) if (holder.claim === claim) return holder.conversation.waitingMs;
    return 0;
  }

  /** Ends the attempt for a claim if its server is silent. */
  end(claim: ClaimedDelivery): void {
    for (const holder of this.holders) {
      if (holder.claim === claim && holder.conversation.silentMs > 0) holder.conversation.cutShort();
    }
  }

  /**
   * Ends one attempt of a tenant that holds more than twice as many.
   * @param among attempts at large mail alone, or all
   * @returns false when there is none
   */
  makeRoomFor(organizationId: string, among: 'large' | 'all'): boolean {
    const holders = [...this.holders].filter(({ isLarge }) => isLarge || among === 'all');
    const held = new Tally();
    for (const { claim } of holders) held.add(claim.organizationId);
    const [victim] = holders
      .map((holder) => ({
        holder,
        count: held.of(holder.claim.organizationId),
        silentMs: holder.conversation.silentMs,
      }))
      .filter(({ count, silentMs }) => silentMs >= SILENT_MS && count > 2 * held.of(organizationId))
      .sort((a, b) => b.count - a.count || b.silentMs - a.silentMs);
    victim?.holder.conversation.cutShort();
    return victim !== undefined;
  }
}
