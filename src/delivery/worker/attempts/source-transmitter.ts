import { Injectable } from '@nestjs/common';
import { Clock, SECOND } from '../../../common/clock';
import { withoutEncodedAddresses } from '../../../common/erasure/without-addresses';
import { type EgressSource, familyOf } from '../../egress/egress-pools';
import { type SourceChoice, SourceChooser } from '../../egress/source-chooser';
import { isWorthAnotherHost, type TransmissionResult } from '../../policy/transmission-result';
import type { ClaimedDelivery } from '../../ports/delivery';
import { SOURCE_SUSPENDED } from '../../ports/outcome';
import { SMTP_TIMEOUTS } from '../../smtp/conversation/smtp-timeouts';
import type { SignedMessage } from '../../compose/message-composer';
import { SmtpTransmitter, type Target, type Transmission } from './smtp-transmitter';
import { WorkerSession } from '../session/worker-session';

/** Where an attempt goes, and the group of destinations that it counts for. */
export type GroupTarget = Target & { readonly group: string };

/** The result of an attempt; or none was made, as all allowed addresses are warming up and have used today's volume. */
export type Sent =
  | {
      readonly kind: 'sent';
      readonly sent: Transmission;
      /** It is for the address that it left from, not for the receiver as such; or there was none left. */
      readonly isSourceRefused: boolean;
    }
  | { readonly kind: 'warming'; readonly until: Date };

type Attempted = Extract<Sent, { kind: 'sent' }>;

/** Nothing has been sent: it waits for its next attempt. */
const NO_SOURCE: TransmissionResult = {
  kind: 'failed',
  cause: SOURCE_SUSPENDED,
  afterFinalDot: false,
  smtp: { response: 'The receiver refuses, or does not reach, all addresses that this mail may leave from' },
};

/**
 * Attempts from our addresses, one after the other: while the receiver refuses them for their reputation, and once by the other
 * address family when it does not reply by the first. All of them together have the time of one attempt.
 */
@Injectable()
export class SourceTransmitter {
  constructor(
    private readonly transmitter: SmtpTransmitter,
    private readonly sources: SourceChooser,
    private readonly session: WorkerSession,
    private readonly clock: Clock,
  ) {}

  /** @throws UnavailableError when the remaining volume of an address is unknown */
  async transmit(claim: ClaimedDelivery, message: SignedMessage, target: GroupTarget): Promise<Sent> {
    const { group, hosts } = target;
    const receiver = hosts.hosts.flatMap(({ addresses }) => addresses);
    let families = this.sources.familiesOf(group, receiver);
    const startedMs = this.clock.monotonicMs();
    let best: Attempted | undefined;
    for (;;) {
      const nowMs = this.clock.monotonicMs();
      const attemptSeconds = SMTP_TIMEOUTS.attempt - (nowMs - startedMs) / SECOND;
      if (best && attemptSeconds <= 0) return best;
      const choice = await this.sources.choose(claim, group, families);
      if (choice.kind !== 'source') return best ?? unsent(choice);
      const { source } = choice;
      const attempted = await this.transmitFrom(source, claim, message, { ...target, attemptSeconds });
      if (isUnused(attempted.sent)) this.sources.refund(source, group, nowMs);
      best = better(best, attempted);
      if (source === undefined) return best;
      const others = familiesAfter(attempted, source, families);
      if (!attempted.isSourceRefused && others === families) return best;
      families = others;
    }
  }

  private async transmitFrom(
    source: EgressSource | undefined,
    claim: ClaimedDelivery,
    message: SignedMessage,
    target: GroupTarget,
  ): Promise<Attempted> {
    const mayFinish = (): boolean => this.session.holds(claim.sessionId);
    const sent = await this.transmitter.transmit(claim, message, { ...target, source }, mayFinish);
    return { kind: 'sent', sent, isSourceRefused: this.isRefused(source, target.group, sent) };
  }

  /** Notes it; false when it is for the receiver to be paused, as there is no other address. */
  private isRefused(source: EgressSource | undefined, group: string, sent: Transmission): boolean {
    if (!isOfReputation(sent)) return false;
    this.sources.suspend(source, group, withoutEncodedAddresses(sent.smtp.response ?? 'reputation'));
    return source !== undefined || !this.sources.hasOnlyDefault;
  }
}

/** That no server replied to another address says less than the reply to the one before. */
function better(before: Attempted | undefined, attempted: Attempted): Attempted {
  return before && isUnanswered(attempted.sent) && !isUnanswered(before.sent) ? before : attempted;
}

/** The next addresses: when no server replies by the family of this one, the other family if there is one. */
function familiesAfter({ sent }: { sent: Transmission }, { address }: EgressSource, families: number[]): number[] {
  const others = isUnanswered(sent) ? families.filter((one) => one !== familyOf(address)) : [];
  return others.length > 0 ? others : families;
}

function unsent(choice: Exclude<SourceChoice, { kind: 'source' }>): Sent {
  return choice.kind === 'warming' ? choice : { kind: 'sent', sent: NO_SOURCE, isSourceRefused: true };
}

/** A refusal for the sending address's reputation, not for the mail or the recipient. */
function isOfReputation(sent: Transmission): sent is Extract<Transmission, { kind: 'rejected' }> {
  if (sent.kind !== 'rejected') return false;
  return sent.classification.class === 'reputation' && sent.classification.action === 'suspend';
}

/** The receiver has not seen anything of the mail. */
function isUnused(sent: Transmission): boolean {
  return sent.kind === 'busy' || (sent.kind === 'failed' && !sent.afterFinalDot);
}

function isUnanswered(sent: Transmission): boolean {
  return sent.kind === 'failed' && isWorthAnotherHost(sent);
}
