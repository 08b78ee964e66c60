import { isIP } from 'node:net';
import { Injectable, Logger } from '@nestjs/common';
import { FairStarts } from '../../../common/async/fair-turns';
import { Clock, SECOND } from '../../../common/clock';
import { AppConfig } from '../../../config/config';
import { ReplyClassifier } from '../../policy/replies/classify-reply';
import { isWorthAnotherHost, rejection, type TransmissionResult } from '../../policy/transmission-result';
import type { ClaimedDelivery } from '../../ports/delivery';
import { type Route, type RouteOptions, Router } from '../../routing/router';
import { DeadAddresses } from '../../smtp/conversation/host-memory';
import type { SmtpEndpoint, SmtpSource } from '../../smtp/conversation/smtp-endpoint';
import type { SmtpEnvelope } from '../../smtp/conversation/smtp-envelope';
import type { SmtpPool } from '../../smtp/pool/smtp-pool';
import { type SmtpResult, toSmtpFacts } from '../../smtp/conversation/smtp-result';
import { SMTP_TIMEOUTS } from '../../smtp/conversation/smtp-timeouts';
import { NextHopPools } from '../../smtp/pool/next-hop-pools';
import { tlsDemandOf } from '../../tls/policy-router';
import type { Conversation } from '../../smtp/conversation/smtp-connection';
import type { SignedMessage } from '../../compose/message-composer';

/** Addresses tried within one attempt; more would keep a slot busy with a destination that is down. */
const MAX_ADDRESSES = 4;
/** Where connections are limited, an unused one is in the way of another worker. */
const LIMITED_IDLE_SECONDS = 1;
/** After this long no further address is tried: the destination is slow, not one of its hosts. */
const NEXT_ADDRESS_MS = 60 * SECOND;

/**
 * Steps of conversations in a turn of the event loop: those that begin within a millisecond and a half. A hundred replies that came
 * together made a turn of 10 ms, and the mail of a quiet tenant passes ten turns (docs/adr/0033).
 */
const STEPS = { most: 16, turnMs: 1.5 };

/** Where one mail may go, in the order in which to try it. */
export type Hosts = Extract<Route, { kind: 'hosts' }>;

/** A route, and the first host: one of `firstHosts`. */
export interface Target {
  readonly hosts: Hosts;
  readonly first: string;
  readonly conversation?: Conversation;
  /** What it took to find the hosts. */
  readonly dnsMs?: number;
  /** Requirements of the receiver. */
  readonly messagesPerConnection?: number | undefined;
  /** It limits connections, those that are not in use among them. */
  readonly isLimited?: boolean;
  /** Where it leaves from; the system's choice when absent. */
  readonly source?: SmtpSource | undefined;
  /** What is left of the attempt's time; all of it when absent. */
  readonly attemptSeconds?: number;
}

/** The result of one attempt; `busy`: nothing was tried, as each host has its maximum of connections. */
export type Transmission = TransmissionResult | { readonly kind: 'busy' };

/** Sends over SMTP to the hosts of the route, in order, until one takes the message or refuses it permanently. */
@Injectable()
export class SmtpTransmitter {
  private readonly logger = new Logger(SmtpTransmitter.name);
  private readonly pools: NextHopPools;
  private readonly dead: DeadAddresses;
  private readonly config: AppConfig['delivery'];
  private readonly steps = new FairStarts(STEPS);
  private destroyed = false;

  constructor(
    private readonly router: Router,
    { delivery }: AppConfig,
    private readonly clock: Clock,
    private readonly classifier: ReplyClassifier,
  ) {
    this.config = delivery;
    this.dead = new DeadAddresses(clock);
    const { mailHost: heloName, connectionsPerHost: maxConnections } = delivery;
    this.pools = new NextHopPools({ heloName, maxConnections }, clock);
  }

  /** Connections of any state. */
  get openConnections(): number {
    return this.pools.openConnections;
  }

  /** Call it before a slot is taken: DNS may take seconds. */
  routeTo(destination: string, options: RouteOptions): Promise<Route> {
    return this.router.resolve(destination, options);
  }

  /**
   * The hosts that an attempt may start with now: those of the best preference that reply and have a free connection, none when
   * all are busy. When none is known to reply, the first.
   */
  firstHosts({ hosts, port }: Hosts): string[] {
    const live = hosts.filter(({ addresses }) => addresses.some((address) => !this.dead.has(address, port)));
    const best = live[0];
    if (best === undefined) return hosts.slice(0, 1).map(({ hostName }) => hostName);
    const hasRoom = ({ hostName, addresses }: Hosts['hosts'][number]): boolean =>
      addresses.some((address) => !this.dead.has(address, port) && this.pools.hasRoomAt({ hostName, address, port }));
    return live.filter((host) => host.preference === best.preference && hasRoom(host)).map(({ hostName }) => hostName);
  }

  /**
   * One attempt, with an overall time limit. Never throws for errors of the network or the remote side, nor once the message may
   * have arrived.
   * @param mayFinish called right before the final dot; false aborts the attempt safely
   */
  async transmit(
    delivery: ClaimedDelivery,
    message: SignedMessage,
    target: Target,
    mayFinish: () => boolean,
  ): Promise<Transmission> {
    const dot = { isOut: false };
    try {
      return await this.tryHosts(delivery, message, target, dot, () => (dot.isOut = mayFinish()));
    } catch (error) {
      if (!dot.isOut) throw error;
      this.logger.error({ msg: 'The reply to a message could not be noted', emailId: delivery.emailId, error });
      return NOT_NOTED;
    }
  }

  /** @param dot whether the message is out, and its reply not understood yet */
  private async tryHosts(
    delivery: ClaimedDelivery,
    message: SignedMessage,
    target: Target,
    dot: { isOut: boolean },
    beforeFinalDot: () => boolean,
  ): Promise<Transmission> {
    // A final reply first: until it is noted it is lost with the process, and its mail sent again.
    const nextTurn = (isOver: boolean) => this.steps.next(delivery.organizationId, isOver);
    await nextTurn(false);
    if (this.destroyed) return CALLED_OFF;
    const { hosts: route, conversation } = target;
    const envelope = envelopeOf(delivery, message, route);
    const hooks = { beforeFinalDot, nextTurn };
    const { organizationId: holder } = delivery;
    const job = { envelope, message: message.bytes, hooks, holder, ...(conversation && { conversation }) };
    const startedMs = this.clock.monotonicMs();
    const findings = new Findings();
    for (const endpoint of this.endpointsOf(target, message.requiresTls === true)) {
      const elapsedMs = this.clock.monotonicMs() - startedMs;
      if (elapsedMs > NEXT_ADDRESS_MS || findings.inVain >= MAX_ADDRESSES) break;
      const pool = this.poolTo(endpoint, target);
      if (!pool.hasRoom) continue;
      dot.isOut = false;
      const attemptSeconds = secondsFor(target) - elapsedMs / SECOND;
      const sent = await pool.send({ ...job, endpoint, attemptSeconds });
      this.dead.note(endpoint.address, endpoint.port, sent);
      const result = toTransmission(sent, route.final, this.classifier);
      if (conversation?.isCutShort || !isWorthAnotherHost(result)) return result;
      findings.add(endpoint.hostName, result);
    }
    return findings.resultFor(route);
  }

  private poolTo(endpoint: SmtpEndpoint, { messagesPerConnection, isLimited }: Target): SmtpPool {
    this.pools.limit(endpoint, messagesPerConnection ?? Infinity, isLimited ? LIMITED_IDLE_SECONDS : Infinity);
    return this.pools.to(endpoint);
  }

  /** Calls off what waits for a connection. */
  dropWaiting(): void {
    this.pools.dropWaiting();
  }

  /** Waits for running conversations, then closes idle connections. */
  close(): Promise<void> {
    return this.pools.close();
  }

  /** Ends every conversation now. */
  destroy(): void {
    this.destroyed = true;
    this.pools.destroy();
  }

  /** Leaves out addresses known not to reply, unless there are no others. */
  private endpointsOf({ hosts: route, first, source }: Target, requiresTls: boolean): SmtpEndpoint[] {
    const { hosts, port } = route;
    const ordered = [
      ...hosts.filter((host) => host.hostName === first),
      ...hosts.filter((host) => host.hostName !== first),
    ];
    const all = ordered.flatMap(({ hostName, addresses, tls }) =>
      addresses
        .filter((address) => source === undefined || isIP(address) === isIP(source.address))
        .map((address) => ({
          hostName,
          address,
          port,
          ...tlsDemandOf({ address, requiresTls, tls }, this.config),
          source,
        })),
    );
    const live = all.filter(({ address }) => !this.dead.has(address, port));
    return live.length > 0 ? live : all;
  }
}

function secondsFor({ attemptSeconds = SMTP_TIMEOUTS.attempt }: Target): number {
  return attemptSeconds;
}

/** The last server's reply is final; a relay's is only the first step. */
function envelopeOf({ recipient, emailId }: ClaimedDelivery, message: SignedMessage, { final }: Hosts): SmtpEnvelope {
  const { returnPath: from, smtpUtf8, eightBit, bytes } = message;
  const envelope = { from, recipient, size: bytes.length, smtpUtf8, eightBit };
  return final ? envelope : { ...envelope, envelopeId: emailId };
}

const CALLED_OFF: TransmissionResult = { kind: 'failed', cause: 'aborted', afterFinalDot: false, smtp: {} };
const NOT_NOTED: TransmissionResult = {
  ...{ kind: 'failed', cause: 'internal', afterFinalDot: true, smtp: { phase: 'final' } },
};
const BUSY = { kind: 'busy' } as const;

/** What the hosts of one attempt have shown, none of which has decided it. */
class Findings {
  /** Addresses tried, save those of hosts that cannot take the message, which cost little. */
  inVain = 0;
  private best: Transmission = BUSY;
  private readonly declining = new Set<string>();

  add(hostName: string, result: TransmissionResult): void {
    if (isDeclined(result)) this.declining.add(hostName);
    else this.inVain += 1;
    if (tellingOf(result) >= tellingOf(this.best)) this.best = result;
  }

  /** The most telling result. That no host can take the message is certain only once each has said what it offers. */
  resultFor({ hosts }: Hosts): Transmission {
    const { best } = this;
    if (!isDeclined(best) || hosts.every(({ hostName }) => this.declining.has(hostName))) return best;
    const enhancedCode = best.smtp.enhancedCode?.replace(/^5/, '4');
    return { ...best, smtp: { ...best.smtp, ...(enhancedCode !== undefined && { enhancedCode }) } };
  }
}

/** This side did not send it, for what the host offers. */
function isDeclined(result: Transmission): result is Extract<TransmissionResult, { kind: 'failed' }> {
  return result.kind === 'failed' && (result.cause === 'too-large' || result.cause === 'unsupported');
}

/** A reply says more than what the host offers, and that more than silence. */
function tellingOf(result: Transmission): number {
  if (result.kind === 'busy') return 0;
  return result.kind === 'failed' ? (isDeclined(result) ? 2 : 1) : 3;
}

function toTransmission(result: SmtpResult, final: boolean, classifier: ReplyClassifier): TransmissionResult {
  const smtp = toSmtpFacts(result);
  const { trace } = result;
  switch (result.kind) {
    case 'accepted':
      return { kind: 'accepted', final, smtp, trace };
    case 'rejected':
      return { ...rejection(smtp, classifier), trace };
    case 'failed':
      return {
        kind: 'failed',
        cause: result.heldBackBy === undefined ? result.cause : 'policy',
        afterFinalDot: result.afterFinalDot,
        smtp: { ...smtp, response: smtp.response ?? result.detail.slice(0, 500) },
        trace,
      };
  }
}
