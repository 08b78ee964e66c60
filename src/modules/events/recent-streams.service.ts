import { Injectable } from '@nestjs/common';
import { Clock, MINUTE } from '../../common/clock';
import type { Tenant } from '../../common/tenant';

/** Longer than most pauses between the events of one email. */
const RECENT_MS = 5 * MINUTE;
/** Of more than these, the ones with the oldest events are forgotten. */
const MAX_RECENT = 5_000;

interface Recent extends Tenant {
  readonly untilMs: number;
}

/**
 * Who had events lately, as far as this process knows: it has recorded them, or has met them in the event log. These are likely to have
 * more soon, and are found here without a search through all organizations.
 */
@Injectable()
export class RecentStreams {
  /** In the order of their last events. */
  private readonly recent = new Map<string, Recent>();

  constructor(private readonly clock: Clock) {}

  /** Events of these are recorded, or about to be committed. */
  note(tenants: readonly Tenant[]): void {
    const untilMs = this.clock.monotonicMs() + RECENT_MS;
    for (const { organizationId, mode } of tenants) {
      const name = `${organizationId} ${mode}`;
      this.recent.delete(name);
      this.recent.set(name, { organizationId, mode, untilMs });
    }
    for (const name of this.recent.keys()) {
      if (this.recent.size <= MAX_RECENT) return;
      this.recent.delete(name);
    }
  }

  /** Each once, the one with the oldest event first. */
  list(): Tenant[] {
    const nowMs = this.clock.monotonicMs();
    for (const [name, { untilMs }] of this.recent) {
      if (untilMs > nowMs) break;
      this.recent.delete(name);
    }
    return [...this.recent.values()].map(({ organizationId, mode }) => ({ organizationId, mode }));
  }
}
