import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Clock } from '../common/clock';
import { DnsResolver } from '../common/dns/dns-resolver';
import { DnssecResolver } from '../common/dns/dnssec-resolver';
import { NodeDnsResolver } from '../common/dns/node-dns-resolver';
import { AppConfig } from '../config/config';
import { BlockListsJob } from './block-lists/block-lists.job';
import { EgressAddressesRepository } from './egress/egress-addresses.repository';
import { EgressAddressesCheck, EgressPools } from './egress/egress-pools';
import { BlockListCheck, EgressAddressState, EgressSuspension, EgressVolume } from './egress/egress.entity';
import { EgressService } from './egress/egress.service';
import { readEgressPools } from './egress/pool-file';
import { SourceChooser } from './egress/source-chooser';
import { parseWarmUpSchedule, WarmUpVolumes } from './egress/warm-up-volumes';
import { classifierOf, ReplyClassifier } from './policy/replies/classify-reply';
import { DESTINATION_LIMITER_DEFAULTS } from './policy/destinations/destination-bounds';
import { DeliveryQueueRepository, QueueActionsRepository } from './queue/delivery-queue.repository';
import { OpenDeliveryLimit } from './queue/open-delivery-limit.service';
import { LeaseConnection, WorkerSessionsRepository } from './queue/worker-sessions.repository';
import { OpenDeliveries } from './queue/open-deliveries.service';
import { QueueActionsService } from './queue/queue-actions.service';
import { QueueAction } from './queue/queue.entity';
import { QueueMeasures } from './queue/queue-measures.service';
import { QueueMetrics } from './queue/queue.metrics';
import { WorkerWaker } from './queue/worker-waker.service';
import { DestinationsRepository } from './shaping/destinations.repository';
import { DestinationsService } from './shaping/destinations.service';
import { nextHopOf } from './routing/create-router';
import { HeldDestinations } from './shaping/held-destinations.service';
import { DestinationReport, DestinationRule } from './shaping/shaping.entity';
import { DanePolicies } from './tls/dane.service';
import { MtaStsFetcher } from './tls/mta-sts-policy';
import { MtaStsPolicies } from './tls/mta-sts.service';
import { TlsReportData } from './tls/tls-report-data.service';
import { TlsSessionCounts } from './tls/tls-session-counts';
import { MtaStsPolicyRow, TlsSessionRow } from './tls/tls.entity';
import { CountTlsSessionsJob, RefreshMtaStsJob } from './tls/tls.job';
import { TlsRepository } from './tls/tls.repository';
import { AttemptDispatcher } from './worker/attempt-dispatcher';
import { AttemptService } from './worker/attempts/attempt.service';
import { ByteBudget } from './compose/byte-budget';
import { ClaimPlanner } from './worker/claims/claim-plan';
import { Claimer } from './worker/claims/claimer';
import {
  DeadSessionsJob,
  GiveBackJob,
  PromoteDueJob,
  QueueActionsJob,
  QueueSweepJob,
  RecordSendingJob,
} from './worker/queue.job';
import { CrashRecovery, DeadClaims } from './worker/crash-recovery';
import { DeliveryLog, DeliveryReport, DeliveryTraces } from './results/delivery-log';
import { DeliveryPipeline } from './worker/delivery-pipeline';
import { DeliveryWorker } from './worker/delivery-worker';
import { DeliveryMetrics } from './results/delivery.metrics';
import { WorkerMetrics } from './worker/worker.metrics';
import { EgressSyncJob, WarmUpSyncJob } from './worker/egress.job';
import { JournalTakeover } from './results/journal-takeover';
import { MessageComposer } from './compose/message-composer';
import { MessagePreparer } from './worker/attempts/message-preparer';
import { ResultJournal } from './results/result-journal';
import { ResultCommit } from './results/result-commit';
import { Settler } from './results/settler';
import { ShapingSync } from './worker/slots/shaping-sync.job';
import { SmtpTransmitter } from './worker/attempts/smtp-transmitter';
import { SourceTransmitter } from './worker/attempts/source-transmitter';
import { UnattemptedEndings } from './worker/attempts/unattempted-endings';
import { WorkSignal } from './worker/session/work-signal';
import { WorkerSession } from './worker/session/worker-session';
import { WorkerSlots } from './worker/slots/worker-slots';

const egress: Provider = {
  provide: EgressPools,
  inject: [AppConfig, Clock],
  useFactory: ({ delivery: { egressPools: file } }: AppConfig, clock: Clock) =>
    new EgressPools(file === undefined ? [] : readEgressPools(file), clock),
};

const volumes: Provider = {
  provide: WarmUpVolumes,
  inject: [EgressAddressesRepository, AppConfig, Clock],
  useFactory: (addresses: EgressAddressesRepository, { delivery }: AppConfig, clock: Clock) =>
    new WarmUpVolumes(addresses, parseWarmUpSchedule(delivery.egressWarmUp), clock),
};

/** Encryption policies and reports of receiving domains. */
const TLS_POLICIES: Provider[] = [
  {
    provide: DnsResolver,
    inject: [AppConfig],
    useFactory: ({ delivery }: AppConfig) => new NodeDnsResolver({ servers: delivery.dnsServers }),
  },
  { provide: MtaStsFetcher, inject: [AppConfig], useFactory: (config: AppConfig) => new MtaStsFetcher(config) },
  {
    provide: MtaStsPolicies,
    inject: [TlsRepository, MtaStsFetcher, DnsResolver, Clock],
    useFactory: (rows: TlsRepository, fetcher: MtaStsFetcher, resolver: DnsResolver, clock: Clock) =>
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
    ...[DeliveryQueueRepository, OpenDeliveries, OpenDeliveryLimit, QueueMeasures, QueueMetrics],
    ...[DestinationsRepository, DestinationsService, HeldDestinations],
    ...[EgressAddressesRepository, egress, EgressService, volumes, SourceChooser],
    ...[QueueActionsRepository, QueueActionsService],
    ...[TlsRepository, ...TLS_POLICIES, TlsReportData, TlsSessionCounts],
    ...[LeaseConnection, WorkerSessionsRepository, WorkerWaker],
  ],
  exports: [
    ...[
      DeliveryQueueRepository,
      OpenDeliveries,
      OpenDeliveryLimit,
      QueueMeasures,
      QueueActionsService,
      WorkerSessionsRepository,
      WorkerWaker,
    ],
    ...[DestinationsRepository, DestinationsService, HeldDestinations],
    ...[EgressAddressesRepository, EgressPools, EgressService, WarmUpVolumes, SourceChooser],
    ...[TlsRepository, DanePolicies, DnsResolver, MtaStsPolicies, TlsReportData, TlsSessionCounts],
  ],
})
export class DeliveryQueueModule {}

const slots: Provider = {
  provide: WorkerSlots,
  inject: [Clock, AppConfig],
  useFactory: (clock: Clock, { delivery }: AppConfig) =>
    new WorkerSlots(clock, {
      slots: delivery.concurrency,
      sharedHop: delivery.mode !== 'direct',
      hop: nextHopOf(delivery),
      connectionsPerHost: delivery.connectionsPerHost,
      startConcurrency: startConcurrencyOf(delivery),
      maximumConcurrency: delivery.connectionsPerHost,
    }),
};

const planner: Provider = {
  provide: ClaimPlanner,
  inject: [WorkerSlots, AppConfig, Clock],
  useFactory: (workerSlots: WorkerSlots, { delivery }: AppConfig, clock: Clock) => {
    const startConcurrency = delivery.mode === 'direct' ? startConcurrencyOf(delivery) : undefined;
    return new ClaimPlanner(workerSlots, { slots: delivery.concurrency, startConcurrency }, clock);
  },
};

const classifier: Provider = {
  provide: ReplyClassifier,
  inject: [AppConfig],
  useFactory: ({ delivery }: AppConfig) => classifierOf(delivery.classificationRules),
};

const budget: Provider = {
  provide: ByteBudget,
  inject: [AppConfig],
  useFactory: ({ delivery }: AppConfig) => new ByteBudget(delivery.workerMemoryBytes),
};

/** A single, operator-chosen hop needs no slow start. */
function startConcurrencyOf({ mode, connectionsPerHost }: AppConfig['delivery']): number {
  return mode === 'direct' ? DESTINATION_LIMITER_DEFAULTS.startConcurrency : connectionsPerHost;
}

/** The stages of a delivery, in order. */
const STAGES: Provider[] = [
  Claimer,
  UnattemptedEndings,
  MessagePreparer,
  MessageComposer,
  DeliveryPipeline,
  slots,
  planner,
  classifier,
  budget,
  AttemptDispatcher,
  ShapingSync,
  AttemptService,
  SmtpTransmitter,
  SourceTransmitter,
  ResultJournal,
  ResultCommit,
  DeliveryLog,
  DeliveryTraces,
  DeliveryReport,
  DeliveryMetrics,
  Settler,
  JournalTakeover,
];
const WORKER: Provider[] = [DeliveryWorker, CrashRecovery, DeadClaims, WorkerSession, WorkSignal, WorkerMetrics];
const JOBS: Provider[] = [
  ...[PromoteDueJob, DeadSessionsJob, QueueSweepJob, QueueActionsJob],
  BlockListsJob,
  ...[EgressAddressesCheck, EgressSyncJob, WarmUpSyncJob, GiveBackJob, RecordSendingJob],
  ...[CountTlsSessionsJob, RefreshMtaStsJob],
];

/** The engine. It is given its ports (messages, keys, outcomes, ordinals, router) by the worker's root module. */
@Module({})
export class DeliveryModule {
  /** @param imports modules that export providers of the ports */
  static register(imports: NonNullable<DynamicModule['imports']>): DynamicModule {
    return {
      module: DeliveryModule,
      imports: [DeliveryQueueModule, ...imports],
      providers: [...STAGES, ...WORKER, ...JOBS],
    };
  }
}
