import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/config';
import { isWorthAnotherHost, type TransmissionResult } from '../policy/transmission-result';
import type { ClaimedDelivery } from '../ports/delivery';
import { type Route, Router } from '../routing/router';
import { isLoopback, type SmtpEndpoint } from '../smtp/smtp-endpoint';
import { type SmtpResult, toSmtpFacts } from '../smtp/smtp-result';
import { NextHopPools } from '../smtp/next-hop-pools';
import type { SignedMessage } from './message-composer';

/** Addresses tried within one attempt; more would keep a slot busy with a destination that is down. */
const MAX_ADDRESSES = 10;

type Hosts = Extract<Route, { kind: 'hosts' }>;

/** Over SMTP to the hosts that the router names, in order, until one takes the message or refuses it for good. */
@Injectable()
export class SmtpTransmitter {
  private readonly pools: NextHopPools;
  private readonly config: AppConfig['delivery'];
  private destroyed = false;

  constructor(
    private readonly router: Router,
    { delivery }: AppConfig,
  ) {
    this.config = delivery;
    this.pools = new NextHopPools({ heloName: delivery.mailHost, maxConnections: delivery.connectionsPerHost });
  }

  /** Connections of any state. */
  get openConnections(): number {
    return this.pools.openConnections;
  }

  /**
   * One attempt. Never throws for what the network or the remote side do.
   * @param mayFinish asked right before the final dot; false aborts the attempt safely
   */
  async transmit(
    delivery: ClaimedDelivery,
    message: SignedMessage,
    mayFinish: () => boolean,
  ): Promise<TransmissionResult> {
    const route = await this.router.resolve(delivery.destination);
    if (this.destroyed) return CALLED_OFF;
    if (route.kind === 'unroutable') return route;
    const envelope = {
      from: message.returnPath,
      recipient: delivery.recipient,
      size: message.bytes.length,
      smtpUtf8: message.smtpUtf8,
      eightBit: false,
      // From the last server there is nothing more to hear than its reply; a relay's is only the beginning.
      ...(!route.final && { envelopeId: delivery.emailId }),
    };
    const job = { envelope, message: message.bytes, hooks: { beforeFinalDot: mayFinish } };
    let result: TransmissionResult = NO_HOST;
    for (const endpoint of endpointsOf(route, this.config)) {
      result = toTransmission(await this.pools.to(endpoint).send(job), route.final);
      if (!isWorthAnotherHost(result)) break;
    }
    return result;
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
}

const CALLED_OFF: TransmissionResult = { kind: 'failed', cause: 'aborted', afterFinalDot: false, smtp: {} };

const NO_HOST: TransmissionResult = {
  kind: 'unroutable',
  permanent: false,
  enhancedCode: '4.4.4',
  reason: 'No host to try',
  ruleId: 'no-address',
};

function endpointsOf(route: Hosts, config: AppConfig['delivery']): SmtpEndpoint[] {
  const all = route.hosts.flatMap(({ hostName, addresses }) =>
    addresses.map((address) => ({ hostName, address, port: route.port, ...securityOf(address, config) })),
  );
  return all.slice(0, MAX_ADDRESSES);
}

/** Mail exchangers: opportunistic TLS. A relay with credentials must prove who it is before it sees them. */
function securityOf(address: string, { mode, relay }: AppConfig['delivery']) {
  if (mode === 'local') return { security: 'none', verifyCertificate: false } as const;
  if (mode === 'direct' || !relay) return { security: 'opportunistic', verifyCertificate: false } as const;
  const { implicitTls, auth } = relay;
  if (implicitTls) return { security: 'implicit', verifyCertificate: !isLoopback(address), auth } as const;
  if (!auth || isLoopback(address)) return { security: 'opportunistic', verifyCertificate: false, auth } as const;
  return { security: 'starttls', verifyCertificate: true, auth } as const;
}

function toTransmission(result: SmtpResult, final: boolean): TransmissionResult {
  const smtp = toSmtpFacts(result);
  switch (result.kind) {
    case 'accepted':
      return { kind: 'accepted', final, smtp };
    case 'rejected':
      return { kind: 'rejected', smtp };
    case 'failed':
      return {
        kind: 'failed',
        cause: result.cause,
        afterFinalDot: result.afterFinalDot,
        smtp: { ...smtp, response: smtp.response ?? result.detail.slice(0, 500) },
      };
  }
}
