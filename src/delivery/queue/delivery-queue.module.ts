import { Module, type Provider } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Clock } from '../../common/clock';
import { AppConfig } from '../../config/config';
import { EgressPools } from '../egress/egress-pools';
import { EgressService } from '../egress/egress.service';
import { readEgressPools } from '../egress/pool-file';
import { SourceChooser } from '../egress/source-chooser';
import { parseWarmUpSchedule, WarmUpVolumes } from '../egress/warm-up-volumes';
import {
  BlockListCheck,
  DestinationReport,
  DestinationRule,
  EgressAddressState,
  EgressSuspension,
  EgressVolume,
  MtaStsPolicyRow,
  TlsSessionRow,
} from '../shaping/shaping.entity';
import { DestinationsRepository } from '../shaping/destinations.repository';
import { DestinationsService } from '../shaping/destinations.service';
import { HeldDestinations } from '../shaping/held-destinations.service';
import { DnsResolver } from '../../common/dns/dns-resolver';
import { DnssecResolver } from '../../common/dns/dnssec-resolver';
import { NodeDnsResolver } from '../../common/dns/node-dns-resolver';
import { DanePolicies } from '../tls/dane.service';
import { MtaStsFetcher } from '../tls/mta-sts-policy';
import { MtaStsPolicies } from '../tls/mta-sts.service';
import { TlsReportData } from '../tls/tls-report-data.service';
import { TlsSessionCounts } from '../tls/tls-session-counts';
import { DeliveryQueueRepository } from './delivery-queue.repository';
import { LeaseConnection } from './lease-connection';
import { OpenDeliveries } from './open-deliveries.service';
import { QueueAction } from './queue.entity';
import { QueueActionsRepository } from './queue-actions.repository';
import { QueueActionsService } from './queue-actions.service';
import { QueueMetrics } from './queue.metrics';
import { WorkerWaker } from './worker-waker.service';
import { WorkerSessionsRepository } from './worker-sessions.repository';

const egress: Provider = {
  provide: EgressPools,
  inject: [AppConfig, Clock],
  useFactory: ({ delivery: { egressPools: file } }: AppConfig, clock: Clock) =>
    new EgressPools(file === undefined ? [] : readEgressPools(file), clock),
};

const volumes: Provider = {
  provide: WarmUpVolumes,
  inject: [DestinationsRepository, AppConfig, Clock],
  useFactory: (destinations: DestinationsRepository, { delivery }: AppConfig, clock: Clock) =>
    new WarmUpVolumes(destinations, parseWarmUpSchedule(delivery.egressWarmUp), clock),
};

/** What receiving domains say of encryption. */
const TLS_POLICIES: Provider[] = [
  {
    provide: DnsResolver,
    inject: [AppConfig],
    useFactory: ({ delivery }: AppConfig) => new NodeDnsResolver({ servers: delivery.dnsServers }),
  },
  { provide: MtaStsFetcher, inject: [AppConfig], useFactory: (config: AppConfig) => new MtaStsFetcher(config) },
  {
    provide: MtaStsPolicies,
    inject: [DestinationsRepository, MtaStsFetcher, DnsResolver, Clock],
    useFactory: (rows: DestinationsRepository, fetcher: MtaStsFetcher, resolver: DnsResolver, clock: Clock) =>
      new MtaStsPolicies(rows, fetcher, resolver, clock),
  },
  {
    provide: DanePolicies,
    inject: [AppConfig, Clock],
    useFactory: ({ delivery }: AppConfig, clock: Clock) =>
      new DanePolicies(new DnssecResolver(delivery.dnsServers), clock),
  },
];

/** The queue, and what workers and operators share of receivers and source addresses. A bad file of addresses ends the start. */
@Module({
  imports: [
    TypeOrmModule.forFeature([
      ...[BlockListCheck, DestinationReport, DestinationRule, QueueAction],
      ...[EgressAddressState, EgressSuspension, EgressVolume, MtaStsPolicyRow, TlsSessionRow],
    ]),
  ],
  providers: [
    ...[DeliveryQueueRepository, OpenDeliveries, QueueMetrics],
    ...[DestinationsRepository, DestinationsService, HeldDestinations, egress, EgressService],
    ...[volumes, SourceChooser],
    ...[QueueActionsRepository, QueueActionsService],
    ...[...TLS_POLICIES, TlsReportData, TlsSessionCounts],
    ...[LeaseConnection, WorkerSessionsRepository, WorkerWaker],
  ],
  exports: [
    ...[DeliveryQueueRepository, OpenDeliveries, QueueActionsService, WorkerSessionsRepository, WorkerWaker],
    ...[DestinationsRepository, DestinationsService, HeldDestinations, EgressPools, EgressService],
    ...[WarmUpVolumes, SourceChooser],
    ...[DanePolicies, DnsResolver, MtaStsPolicies, TlsReportData, TlsSessionCounts],
  ],
})
export class DeliveryQueueModule {}
