import { Module } from '@nestjs/common';
import { NodeDnsResolver } from '../../common/dns/node-dns-resolver';
import { EgressGuard, PublicEgressGuard } from '../../common/egress/egress-guard';
import { AppConfig } from '../../config/config';

/** Where webhooks may go: the API asks when an endpoint is made, the sender before each connection. */
@Module({
  providers: [{ provide: EgressGuard, inject: [AppConfig], useFactory: createGuard }],
  exports: [EgressGuard],
})
export class EgressModule {}

function createGuard({ delivery, webhooks }: AppConfig): EgressGuard {
  const resolver = new NodeDnsResolver({ servers: delivery.dnsServers });
  return new PublicEgressGuard(resolver, { allowLoopback: webhooks.allowPrivate });
}
