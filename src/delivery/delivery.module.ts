import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { Clock } from '../common/clock';
import { AppConfig } from '../config/config';
import { BlockListsJob } from './block-lists/block-lists.job';
import { DeliveryQueueModule } from './queue/delivery-queue.module';
import { classifierOf, ReplyClassifier } from './policy/classify-reply';
import { DESTINATION_LIMITER_DEFAULTS } from './policy/destination-limiter';
import { EgressCheck } from './egress/egress-check';
import { CountTlsSessionsJob, RefreshMtaStsJob } from './tls/tls.job';
import { AttemptDispatcher } from './worker/attempt-dispatcher';
import { AttemptService } from './worker/attempt.service';
import { ByteBudget } from './worker/byte-budget';
import { ClaimPlanner } from './worker/claim-plan';
import { Claimer } from './worker/claimer';
import { CrashRecovery } from './worker/crash-recovery';
import { DeadSessionsJob, GiveBackJob, RecordSendingJob } from './worker/claims.job';
import { DeliveryLog, DeliveryReport, DeliveryTraces } from './worker/delivery-log';
import { DeliveryMetrics } from './worker/delivery.metrics';
import { WorkerMetrics } from './worker/worker.metrics';
import { DeliveryPipeline } from './worker/delivery-pipeline';
import { DeliveryWorker } from './worker/delivery-worker';
import { EgressSyncJob, WarmUpSyncJob } from './worker/egress.job';
import { JournalTakeover } from './worker/journal-takeover';
import { MessageComposer } from './worker/message-composer';
import { MessagePreparer } from './worker/message-preparer';
import { PromoteDueJob, QueueActionsJob, QueueSweepJob } from './worker/queue.job';
import { ResultCommit, Settler } from './worker/settler';
import { ResultJournal } from './worker/result-journal';
import { UnattemptedEndings } from './worker/unattempted-endings';
import { ShapingSync } from './worker/shaping-sync.job';
import { SmtpTransmitter } from './worker/smtp-transmitter';
import { SourceTransmitter } from './worker/source-transmitter';
import { WorkSignal } from './worker/work-signal';
import { WorkerSlots } from './worker/worker-slots';
import { WorkerSession } from './worker/worker-session';

const slots: Provider = {
  provide: WorkerSlots,
  inject: [Clock, AppConfig],
  useFactory: (clock: Clock, { delivery }: AppConfig) =>
    new WorkerSlots(clock, {
      slots: delivery.concurrency,
      sharedHop: delivery.mode !== 'direct',
      connectionsPerHost: delivery.connectionsPerHost,
      startConcurrency: startConcurrencyOf(delivery),
      maximumConcurrency: delivery.connectionsPerHost,
    }),
};

const planner: Provider = {
  provide: ClaimPlanner,
  inject: [WorkerSlots, AppConfig],
  useFactory: (workerSlots: WorkerSlots, { delivery }: AppConfig) =>
    new ClaimPlanner(workerSlots, {
      slots: delivery.concurrency,
      startConcurrency: delivery.mode === 'direct' ? startConcurrencyOf(delivery) : undefined,
    }),
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

/** One hop of our own choosing needs no careful start. */
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
const WORKER: Provider[] = [DeliveryWorker, CrashRecovery, WorkerSession, WorkSignal, WorkerMetrics];
const JOBS: Provider[] = [
  ...[PromoteDueJob, DeadSessionsJob, QueueSweepJob, QueueActionsJob],
  BlockListsJob,
  ...[EgressCheck, EgressSyncJob, WarmUpSyncJob, GiveBackJob, RecordSendingJob],
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
