import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/config';
import type { AttemptTrace } from '../ports/attempt-trace';
import type { Settlement } from '../ports/outcome';
import type { SessionCount } from '../shaping/destinations.repository';
import type { CountedSession } from '../shaping/sql/tls-sessions.sql';
import type { TlsaDemand } from '../smtp/tlsa';
import { DanePolicies, type HostDane } from './dane.service';
import { allowsHost } from './mta-sts-policy';
import { MtaStsPolicies, type MtaStsState } from './mta-sts.service';
import { type TlsState, tlsStateOf } from './tls-state';

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

type Assessment = Pick<CountedSession, 'policyType' | 'result'>;

/** A connection, as far as it shows. */
interface Seen {
  readonly state: TlsState;
  readonly mxHost: string;
  /** What was wrong with its encryption. */
  readonly fault: string | undefined;
}

const SUCCESS = 'success';
const UNSPECIFIC = 'validation-failure';
const WITHOUT_ENCRYPTION: ReadonlyMap<string, string> = new Map([
  ['plaintext', 'starttls-not-supported'],
  ['broken', UNSPECIFIC],
]);

/** What is known of the policies that a connection fell under. */
export interface KnownPolicies {
  /** Of the destination. */
  readonly mtaSts: MtaStsState;
  readonly tlsaOf: (mxHost: string) => HostDane | undefined;
}

/** Undefined for what is no connection of its own, or did not get so far that it shows. */
export function countedSessionOf({ claim, outcomes }: Settlement, known: KnownPolicies): CountedSession | undefined {
  const [{ outcome, trace }] = outcomes;
  const smtp = 'smtp' in outcome ? outcome.smtp : undefined;
  const state = tlsStateOf({ outcome, trace });
  if (smtp === undefined || state === undefined || !isNew(state, trace)) return undefined;
  const { mxHost = '' } = smtp;
  const assessment = assess({ state, mxHost, fault: smtp.tlsFault ?? trace?.tls?.fault }, known.mtaSts);
  const policy = textOf(assessment, mxHost, known);
  return { domain: claim.destination, ...assessment, policy, ...whereOf(assessment, mxHost, trace) };
}

/** A success needs no place, save the host whose own records were the policy. */
function whereOf({ policyType, result }: Assessment, mxHost: string, trace: AttemptTrace | undefined) {
  if (result === SUCCESS) return { mxHost: policyType === 'tlsa' ? mxHost : '', sendingIp: '', receivingIp: '' };
  const { source = '', address = '' } = trace?.route ?? {};
  return { mxHost, sendingIp: source, receivingIp: address };
}

function textOf({ policyType }: Assessment, mxHost: string, { mtaSts, tlsaOf }: KnownPolicies): string {
  const tlsa = policyType === 'tlsa' ? tlsaOf(mxHost) : undefined;
  if (typeof tlsa === 'object') return textOfRecords(tlsa);
  return policyType === 'sts' && mtaSts.policy ? textOfPolicy(mtaSts.policy) : '';
}

/** A connection that is used again was counted when it was made. */
function isNew({ result }: TlsState, trace: AttemptTrace | undefined): boolean {
  return result === 'held_back' || trace?.phasesMs?.connect !== undefined;
}

function assess(seen: Seen, known: MtaStsState): Assessment {
  const { state, fault } = seen;
  if (state.policy !== 'dane' && state.policy !== 'mta-sts') return assessWithoutPolicy(seen, known);
  const result = state.result === 'held_back' ? (fault ?? UNSPECIFIC) : SUCCESS;
  return { policyType: state.policy === 'dane' ? 'tlsa' : 'sts', result };
}

/** No policy of the domain has decided: there is none, it could not be had, or it is only tested. */
function assessWithoutPolicy({ state, mxHost, fault }: Seen, { policy, failure }: MtaStsState): Assessment {
  const encryption = WITHOUT_ENCRYPTION.get(state.result);
  if (policy === undefined && failure !== undefined) return { policyType: 'sts', result: failure.type };
  if (policy === undefined || policy.mode === 'none') {
    return { policyType: 'no-policy-found', result: encryption ?? SUCCESS };
  }
  const mismatch = allowsHost(policy, mxHost) ? undefined : UNSPECIFIC;
  return { policyType: 'sts', result: mismatch ?? encryption ?? fault ?? SUCCESS };
}

/** A host has one or two for each of its keys. */
const MAX_RECORDS = 20;
/** A digest has 128; whole certificates are cut, and the host knows them. */
const MAX_DATA_CHARACTERS = 2_000;

/** A policy (MTA-STS) as its domain has published it, one field a line, as reports on TLS tell it (RFC 8460 section 4.4). */
function textOfPolicy({ mode, mx, maxAgeSeconds }: NonNullable<MtaStsState['policy']>): string {
  const hosts = mx.map((host) => `mx: ${host}`);
  const age = maxAgeSeconds === undefined ? [] : [`max_age: ${maxAgeSeconds}`];
  return ['version: STSv1', `mode: ${mode}`, ...hosts, ...age].join('\n');
}

/** TLSA records as zones are written (RFC 6698 section 2.2), one a line. */
function textOfRecords({ records }: Pick<TlsaDemand, 'records'>): string {
  const lines = records.slice(0, MAX_RECORDS).map(({ usage, selector, matchingType, data }) => {
    const hex = data.toString('hex').toUpperCase().slice(0, MAX_DATA_CHARACTERS);
    return `${usage} ${selector} ${matchingType} ${hex}`;
  });
  return lines.sort().join('\n');
}
