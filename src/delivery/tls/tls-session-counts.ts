import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/config';
import type { Settlement } from '../ports/outcome';
import type { SessionCount } from '../shaping/destinations.repository';
import { countedSessionOf } from './counted-session';
import { MtaStsPolicies } from './mta-sts.service';

/** More kinds than this within half a minute are not counted. */
const MAX_KINDS = 50_000;

/** Counts connections for reports on TLS, in memory until they are written down; nothing where no reports are sent. */
@Injectable()
export class TlsSessionCounts {
  private counts = new Map<string, SessionCount>();
  private readonly isEnabled: boolean;

  constructor(
    { delivery, tlsReports }: AppConfig,
    private readonly policies: MtaStsPolicies,
  ) {
    this.isEnabled = delivery.mode === 'direct' && tlsReports !== undefined;
  }

  settled(settlements: readonly Settlement[]): void {
    if (!this.isEnabled) return;
    for (const settlement of settlements) {
      const session = countedSessionOf(settlement, this.policies.known(settlement.claim.destination));
      if (session) this.add({ ...session, sessions: 1 });
    }
  }

  /** What has been counted since the last time. */
  take(): SessionCount[] {
    const taken = [...this.counts.values()];
    this.counts = new Map();
    return taken;
  }

  add(counted: SessionCount): void {
    const { sessions, ...kind } = counted;
    const key = Object.values(kind).join(' ');
    const before = this.counts.get(key)?.sessions;
    if (before === undefined && this.counts.size >= MAX_KINDS) return;
    this.counts.set(key, { ...counted, sessions: (before ?? 0) + sessions });
  }
}
