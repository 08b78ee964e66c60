import type { AttemptTrace } from '../ports/attempt-trace';
import type { Settlement } from '../ports/outcome';
import type { CountedSession } from '../shaping/sql/tls-sessions.sql';
import { allowsHost } from './mta-sts-policy';
import type { MtaStsState } from './mta-sts.service';
import { tlsStateOf, type TlsState } from './tls-state';

type Judged = Pick<CountedSession, 'policyType' | 'result'>;

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

/** Undefined for what is no connection of its own, or did not get so far that it shows. @param known of the destination */
export function countedSessionOf({ claim, outcomes }: Settlement, known: MtaStsState): CountedSession | undefined {
  const [{ outcome, trace }] = outcomes;
  const smtp = 'smtp' in outcome ? outcome.smtp : undefined;
  const state = tlsStateOf({ outcome, trace });
  if (smtp === undefined || state === undefined || !isNew(state, trace)) return undefined;
  const { mxHost = '' } = smtp;
  const judged = judge({ state, mxHost, fault: smtp.tlsFault ?? trace?.tls?.fault }, known);
  const base = { domain: claim.destination, ...judged };
  if (judged.result === SUCCESS) return { ...base, mxHost: '', sendingIp: '', receivingIp: '' };
  return { ...base, mxHost, ...endsOf(trace) };
}

/** A connection that is used again was counted when it was made. */
function isNew({ result }: TlsState, trace: AttemptTrace | undefined): boolean {
  return result === 'held_back' || trace?.phasesMs?.connect !== undefined;
}

function endsOf(trace: AttemptTrace | undefined): Pick<CountedSession, 'sendingIp' | 'receivingIp'> {
  const { source = '', address = '' } = trace?.route ?? {};
  return { sendingIp: source, receivingIp: address };
}

function judge(seen: Seen, known: MtaStsState): Judged {
  const { state, fault } = seen;
  if (state.policy !== 'dane' && state.policy !== 'mta-sts') return judgeUnbound(seen, known);
  const result = state.result === 'held_back' ? (fault ?? UNSPECIFIC) : SUCCESS;
  return { policyType: state.policy === 'dane' ? 'tlsa' : 'sts', result };
}

/** No policy of the domain has decided: there is none, it could not be had, or it is only tested. */
function judgeUnbound({ state, mxHost, fault }: Seen, { policy, failure }: MtaStsState): Judged {
  const encryption = WITHOUT_ENCRYPTION.get(state.result);
  if (policy === undefined && failure !== undefined) return { policyType: 'sts', result: failure.type };
  if (policy === undefined || policy.mode === 'none') {
    return { policyType: 'no-policy-found', result: encryption ?? SUCCESS };
  }
  const mismatch = allowsHost(policy, mxHost) ? undefined : UNSPECIFIC;
  return { policyType: 'sts', result: mismatch ?? encryption ?? fault ?? SUCCESS };
}
