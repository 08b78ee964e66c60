import { SystemClock } from '../../../common/clock';
import type { ConversationTrace, PhaseTimes, SmtpPhase } from '../../ports/attempt-trace';
import { type LocalRefusal, NO_CAPABILITIES, type SmtpCapabilities } from './smtp-envelope';
import { demandOf, policyOf, type SmtpEndpoint } from './smtp-endpoint';
import { lastLine, printable, type SmtpReply } from './smtp-reply';
import { type SmtpAccepted, type SmtpFailed, type SmtpRejected, protocolFault, type WireFault } from './smtp-result';
import type { SmtpTimeLimit, SmtpTimeouts } from './smtp-timeouts';
import type { SmtpWire, TlsProof } from './smtp-wire';
import type { TlsSessions } from './host-memory';
import type { TlsaProof } from './tlsa';

const ASKED: Readonly<Partial<Record<SmtpPhase, string>>> = {
  ...{ auth: 'the login', tls: 'STARTTLS', mail: 'MAIL', rcpt: 'RCPT', data: 'DATA', final: 'the message' },
};
/** Characters of a reply without meaning that the words about it quote. */
const MAX_QUOTED = 200;

/** True for a fault, false for a reply. */
export function isFault(outcome: SmtpReply | WireFault): outcome is WireFault {
  return 'cause' in outcome;
}

/** What the handshake and the transactions of one connection share: the wire, what the server offers, the results. */
export class SmtpSession {
  capabilities: SmtpCapabilities = NO_CAPABILITIES;
  /** From the final dot to its reply: giving up makes duplicates (RFC 1047). */
  isPastFinalDot = false;
  /** A refused transaction is being left; its result is known, and only the connection is at stake. */
  leaving: Promise<void> | undefined;
  readonly timer = new PhaseTimer();
  private encryption: ConversationTrace['tls'];
  /** The domain for whose mail alone the certificate proves the host (DANE). */
  private provenFor: string | undefined;

  constructor(
    readonly endpoint: SmtpEndpoint,
    readonly heloName: string,
    readonly timeouts: SmtpTimeouts,
    readonly wire: SmtpWire,
    private readonly tls: { readonly tlsSessions?: TlsSessions | undefined; readonly holder?: string | undefined } = {},
  ) {}

  /** Of earlier connections to the same hosts. */
  get tlsSessions(): TlsSessions | undefined {
    return this.tls.tlsSessions;
  }

  /** Whom the connection counts for in the shares of handshakes. */
  get holder(): string {
    return this.tls.holder ?? this.endpoint.address;
  }

  /** Writes one command line, without its CRLF, and waits for the reply. */
  command(limit: SmtpTimeLimit, line: string): Promise<SmtpReply | WireFault> {
    this.wire.write(`${line}\r\n`, 1);
    return this.reply(limit);
  }

  reply(limit: SmtpTimeLimit): Promise<SmtpReply | WireFault> {
    return this.wire.reply(this.timeouts[limit]);
  }

  /** Whether the certificate proved the host, in this handshake or in the one that it continues. */
  get proof(): TlsProof {
    const { verified = false, fault } = this.encryption ?? {};
    return { verified, fault };
  }

  accepted(reply: SmtpReply): SmtpAccepted {
    this.timer.end('final');
    return { kind: 'accepted', reply, ...this.conversation() };
  }

  /** A definite no. 421 announces that the server closes, so this side does too (RFC 5321 section 3.8). */
  rejected(phase: SmtpPhase, reply: SmtpReply): SmtpRejected {
    this.timer.end(phase);
    if (reply.code === 421) this.wire.destroy();
    return { kind: 'rejected', phase, reply, ...this.conversation() };
  }

  /** No definite reply: the connection is of no more use. */
  failed(phase: SmtpPhase, fault: WireFault, more: Partial<SmtpFailed> = {}): SmtpFailed {
    this.timer.end(phase);
    this.wire.destroy();
    const { cause, detail } = fault;
    return { kind: 'failed', phase, cause, detail, afterFinalDot: false, ...this.conversation(), ...more };
  }

  /** A message that this host cannot take; the connection is as good as before. */
  declined(refusal: LocalRefusal): SmtpFailed {
    return { kind: 'failed', phase: 'mail', afterFinalDot: false, ...refusal, ...this.conversation() };
  }

  /** A reply of a kind that has no meaning in this phase, which is only quoted: alone, 250 for DATA or 354 for MAIL would look like a yes. */
  confused(phase: SmtpPhase, reply: SmtpReply, more: Partial<SmtpFailed> = {}): SmtpFailed {
    const asked = ASKED[phase] ?? 'the connection';
    const found = `it replied "${printable(lastLine(reply)).slice(0, MAX_QUOTED)}" to ${asked}, where that has no meaning`;
    return this.failed(phase, protocolFault(found), more);
  }

  /** A handshake has succeeded; its facts are not available once the socket is closed. */
  noteEncryption(encryption: ConversationTrace['tls']): void {
    this.encryption = encryption;
  }

  /** DANE decides whether the certificate proves the host. */
  noteProof(proof: TlsaProof | undefined): void {
    const verified = proof !== undefined;
    this.encryption = this.encryption && { ...this.encryption, verified, fault: undefined };
    this.provenFor = proof?.nextHopName;
  }

  /** Whether mail for an endpoint may use this connection: it was made under the same demands, and what was proven holds for it. */
  suits(endpoint: SmtpEndpoint): boolean {
    if (demandOf(this.endpoint) !== demandOf(endpoint)) return false;
    return this.provenFor === undefined || endpoint.tlsa?.nextHopNames.includes(this.provenFor) === true;
  }

  private conversation() {
    const { hostName, address, port, source, tlsFailure } = this.endpoint;
    const phasesMs = this.timer.read();
    const route = source ? { address, port, source: source.address, pool: source.pool } : { address, port };
    const trace: ConversationTrace = { route, tls: this.encryption, policy: policyOf(this.endpoint), phasesMs };
    return { hostName, tls: this.wire.isSecure, ...(tlsFailure !== undefined && { tlsFailure }), trace };
  }
}

const clock = new SystemClock();

/** Times the phases of a conversation: each takes what has passed since the one before. */
export class PhaseTimer {
  private times: Partial<Record<SmtpPhase, number>> = {};
  private lastMs = clock.monotonicMs();

  /** Starts again: the connection takes the next message. */
  restart(): void {
    this.times = {};
    this.lastMs = clock.monotonicMs();
  }

  /** A phase, or a part of it, is over. */
  end(phase: SmtpPhase): void {
    const nowMs = clock.monotonicMs();
    this.times[phase] = (this.times[phase] ?? 0) + nowMs - this.lastMs;
    this.lastMs = nowMs;
  }

  /** Whole milliseconds. */
  read(): PhaseTimes {
    const rounded: Partial<Record<SmtpPhase, number>> = {};
    for (const phase in this.times) rounded[phase as SmtpPhase] = Math.round(this.times[phase as SmtpPhase] ?? 0);
    return rounded;
  }
}
