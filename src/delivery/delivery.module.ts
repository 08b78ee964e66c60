import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { Clock } from '../common/clock';
import { AppConfig } from '../config/config';
import { DeliveryQueueModule } from './queue/delivery-queue.module';
import { AttemptService } from './worker/attempt.service';
import { Claimer } from './worker/claimer';
import { CrashRecovery } from './worker/crash-recovery';
import { DeadSessionsJob } from './worker/dead-sessions.job';
import { DeliveryPipeline } from './worker/delivery-pipeline';
import { DeliveryWorker } from './worker/delivery-worker';
import { DestinationSlots } from './worker/destination-slots';
import { JournalTakeover } from './worker/journal-takeover';
import { MessageComposer } from './worker/message-composer';
import { MessagePreparer } from './worker/message-preparer';
import { PromoteDueJob } from './worker/promote-due.job';
import { QueueSweepJob } from './worker/queue-sweep.job';
import { ResultCommit } from './worker/result-commit';
import { ResultJournal } from './worker/result-journal';
import { Settler } from './worker/settler';
import { SmtpTransmitter } from './worker/smtp-transmitter';
import { WorkSignal } from './worker/work-signal';
import { WorkerSession } from './worker/worker-session';
import { WorkerMetrics } from './worker/worker.metrics';

const slots: Provider = {
  provide: DestinationSlots,
  inject: [Clock, AppConfig],
  useFactory: (clock: Clock, { delivery }: AppConfig) => {
    const sharedHop = delivery.mode !== 'direct';
    const most = delivery.connectionsPerHost;
    // One hop of our own choosing needs no careful start.
    const shape = sharedHop
      ? { startConcurrency: most * 2, maximumConcurrency: most * 2 }
      : { maximumConcurrency: most };
    return new DestinationSlots(clock, { slots: delivery.concurrency, sharedHop, ...shape });
  },
};

/** The stages of a delivery, in order. */
const STAGES: Provider[] = [
  Claimer,
  MessagePreparer,
  MessageComposer,
  DeliveryPipeline,
  slots,
  AttemptService,
  SmtpTransmitter,
  ResultJournal,
  ResultCommit,
  Settler,
  JournalTakeover,
];
const WORKER: Provider[] = [DeliveryWorker, CrashRecovery, WorkerSession, WorkSignal, WorkerMetrics];
const JOBS: Provider[] = [PromoteDueJob, DeadSessionsJob, QueueSweepJob];

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
