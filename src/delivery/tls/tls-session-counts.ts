import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/config';
import type { Settlement } from '../ports/outcome';
import type { SessionCount } from '../shaping/destinations.repository';
import { countedSessionOf } from './counted-session';
import { DanePolicies } from './dane.service';
import { MtaStsPolicies } from './mta-sts.service';

/** More kinds than this within half a minute are not counted. */
const MAX_KINDS = 50_000;

/** Counts connections for reports on TLS, in memory until they are written down; nothing where no reports are sent. */
@Injectable()
export class TlsSessionCounts {
  private counts = new Map<string, SessionCount>();
  private readonly isEnabled: boolean;
  private readonly port: number;

  constructor(
    { delivery, tlsReports }: AppConfig,
    private readonly policies: MtaStsPolicies,
    private readonly dane: DanePolicies,
  ) {
    this.port = delivery.smtpPort;
    this.isEnabled = delivery.mode === 'direct' && tlsReports !== undefined;
  }

  settled(settlements: readonly Settlement[]): void {
    if (!this.isEnabled) return;
    for (const settlement of settlements) {
      const mtaSts = this.policies.known(settlement.claim.destination);
      const session = countedSessionOf(settlement, { mtaSts, tlsaOf: (host) => this.dane.known(host, this.port) });
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
    const key = kindOf(counted);
    const before = this.counts.get(key)?.sessions;
    if (before === undefined && this.counts.size >= MAX_KINDS) return;
    this.counts.set(key, { ...counted, sessions: (before ?? 0) + counted.sessions });
  }
}

/** What is counted together, as in the database: of a policy that changes, the last one counts. */
function kindOf({ domain, policyType, result, mxHost, sendingIp, receivingIp }: SessionCount): string {
  return [domain, policyType, result, mxHost, sendingIp, receivingIp].join(' ');
}
