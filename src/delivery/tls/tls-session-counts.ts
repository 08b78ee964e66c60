import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/config';
import type { AttemptTrace, Encryption, TlsPolicy } from '../ports/attempt-trace';
import type { RecordedOutcome, Settlement, SmtpFacts } from '../ports/outcome';
import type { CountedSession, SessionCount } from './tls.repository';
import { textOfRecords } from '../smtp/conversation/tlsa';
import { DanePolicies, type HostDane } from './dane.service';
import { allowsHost } from './mta-sts-policy';
import { MtaStsPolicies, type MtaStsState } from './mta-sts.service';

/**
 * The encryption of an attempt. `plaintext`: none was offered. `broken`: it failed, and the mail went in plaintext.
 * `held_back`: the mail was not sent.
 */
export const TLS_RESULTS = ['verified', 'encrypted', 'plaintext', 'broken', 'held_back'] as const;

export type TlsResult = (typeof TLS_RESULTS)[number];

/** Older versions are not supported. */
export const TLS_VERSIONS = ['none', 'TLSv1.2', 'TLSv1.3'] as const;

export interface TlsState {
  readonly policy: TlsPolicy;
  /** As `TLSv1.3`; `none` without encryption. */
  readonly version: string;
  readonly result: TlsResult;
}

/** Undefined when the attempt ended before it showed. */
export function tlsStateOf({ outcome, trace }: Pick<RecordedOutcome, 'outcome' | 'trace'>): TlsState | undefined {
  const smtp = 'smtp' in outcome ? outcome.smtp : undefined;
  if (smtp === undefined) return undefined;
  if (smtp.policy !== undefined) return { policy: smtp.policy, version: 'none', result: 'held_back' };
  return trace?.policy && ofConversation(smtp, trace.policy, trace.tls);
}

function ofConversation(smtp: SmtpFacts, policy: TlsPolicy, tls: Encryption | undefined): TlsState | undefined {
  if (tls) return { policy, version: tls.version, result: tls.verified ? 'verified' : 'encrypted' };
  if (smtp.tlsFailure !== undefined) return { policy, version: 'none', result: 'broken' };
  return EARLY.has(smtp.phase ?? '') ? undefined : { policy, version: 'none', result: 'plaintext' };
}

/** Before it is known whether encryption is offered. */
const EARLY: ReadonlySet<string> = new Set(['', 'dns', 'connect', 'greeting', 'tls']);

/** Further kinds within half a minute are not counted. */
const MAX_KINDS = 50_000;
/** Of their policies, which receivers write: one has some hundred characters, and can have 40,000. */
const MAX_POLICY_CHARACTERS = 8 * 1024 * 1024;

/** Counts connections for TLS reports, in memory until they are written; nothing where no reports are sent. */
@Injectable()
export class TlsSessionCounts {
  private counts = new Map<string, SessionCount>();
  private policyCharacters = 0;
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

  /** Counts since the last call. */
  take(): SessionCount[] {
    const taken = [...this.counts.values()];
    this.counts = new Map();
    this.policyCharacters = 0;
    return taken;
  }

  add(counted: SessionCount): void {
    const key = kindOf(counted);
    const before = this.counts.get(key);
    const characters = this.policyCharacters + counted.policy.length - (before?.policy.length ?? 0);
    if (characters > MAX_POLICY_CHARACTERS || (!before && this.counts.size >= MAX_KINDS)) return;
    this.policyCharacters = characters;
    this.counts.set(key, { ...counted, sessions: (before?.sessions ?? 0) + counted.sessions });
  }
}

/** Counts are grouped as in the database: when a policy changes, the last one counts. */
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

/** The policies that applied to a connection. */
export interface KnownPolicies {
  /** Of the destination. */
  readonly mtaSts: MtaStsState;
  readonly tlsaOf: (mxHost: string) => HostDane | undefined;
}

/** Undefined for what is no new connection, or ended before it showed. */
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

/** A success needs no host, unless the host's own records were the policy. */
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

/** A reused connection was counted when it was made. */
function isNew({ result }: TlsState, trace: AttemptTrace | undefined): boolean {
  return result === 'held_back' || trace?.phasesMs?.connect !== undefined;
}

function assess(seen: Seen, known: MtaStsState): Assessment {
  const { state, fault } = seen;
  if (state.policy !== 'dane' && state.policy !== 'mta-sts') return assessWithoutPolicy(seen, known);
  const result = state.result === 'held_back' ? (fault ?? UNSPECIFIC) : SUCCESS;
  return { policyType: state.policy === 'dane' ? 'tlsa' : 'sts', result };
}

/** No policy of the domain decided: there is none, it was not available, or it is in testing mode. */
function assessWithoutPolicy({ state, mxHost, fault }: Seen, { policy, failure }: MtaStsState): Assessment {
  const encryption = WITHOUT_ENCRYPTION.get(state.result);
  if (policy === undefined && failure !== undefined) return { policyType: 'sts', result: failure.type };
  if (policy === undefined || policy.mode === 'none') {
    return { policyType: 'no-policy-found', result: encryption ?? SUCCESS };
  }
  const mismatch = allowsHost(policy, mxHost) ? undefined : UNSPECIFIC;
  return { policyType: 'sts', result: mismatch ?? encryption ?? fault ?? SUCCESS };
}

/** A policy (MTA-STS) as published, one field a line, in the form of TLS reports (RFC 8460 section 4.4). */
function textOfPolicy({ mode, mx, maxAgeSeconds }: NonNullable<MtaStsState['policy']>): string {
  const hosts = mx.map((host) => `mx: ${host}`);
  const age = maxAgeSeconds === undefined ? [] : [`max_age: ${maxAgeSeconds}`];
  return ['version: STSv1', `mode: ${mode}`, ...hosts, ...age].join('\n');
}
