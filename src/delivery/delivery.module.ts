import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { Clock } from '../common/clock';
import { AppConfig } from '../config/config';
import { DeliveryQueueModule } from './queue/delivery-queue.module';
import { Router } from './routing/router';
import { AttemptService } from './worker/attempt.service';
import { Claimer } from './worker/claimer.service';
import { Conveyor } from './worker/conveyor.service';
import { DeliveryWorker, WorkerSurroundings } from './worker/delivery-worker.service';
import { ForgottenClaims } from './worker/forgotten-claims.service';
import { Housekeeper, HousekeepingRounds } from './worker/housekeeper.service';
import { JournaledSettler } from './worker/journaled-settler.service';
import { Lanes } from './worker/lanes';
import { MessageCopies } from './worker/message-copies.service';
import { MessagePreparer } from './worker/message-preparer.service';
import { OverdueSweeper } from './worker/overdue-sweeper.service';
import { ResultJournal } from './worker/result-journal';
import { Settler } from './worker/settler.service';
import { SmtpTransmitter } from './worker/smtp-transmitter';
import { Transmitter } from './worker/transmitter';
import { WorkerMetrics } from './worker/worker-metrics';
import { WorkSignal } from './worker/work-signal.service';
import { WorkerSession } from './worker/worker-session';

const lanes: Provider = {
  provide: Lanes,
  inject: [Clock, AppConfig],
  useFactory: (clock: Clock, { delivery }: AppConfig) => {
    const sharedHop = delivery.mode !== 'direct';
    const most = delivery.connectionsPerHost;
    // One hop of our own choosing needs no careful start.
    const shape = sharedHop
      ? { startConcurrency: most * 2, maximumConcurrency: most * 2 }
      : { maximumConcurrency: most };
    return new Lanes(clock, { lanes: delivery.concurrency, sharedHop, ...shape });
  },
};

const transmitter: Provider = {
  provide: Transmitter,
  inject: [Router, AppConfig],
  useFactory: (router: Router, { delivery }: AppConfig) => new SmtpTransmitter(router, delivery),
};

const WORKER: Provider[] = [
  AttemptService,
  Claimer,
  Conveyor,
  DeliveryWorker,
  ForgottenClaims,
  Housekeeper,
  HousekeepingRounds,
  JournaledSettler,
  MessageCopies,
  MessagePreparer,
  OverdueSweeper,
  ResultJournal,
  Settler,
  WorkSignal,
  WorkerMetrics,
  WorkerSession,
  WorkerSurroundings,
  lanes,
  transmitter,
];

/** The engine. It is given its ports (messages, keys, outcomes, ordinals, router) by the worker's root module. */
@Module({})
export class DeliveryModule {
  /** @param imports modules that export providers of the ports */
  static register(imports: NonNullable<DynamicModule['imports']>): DynamicModule {
    return {
      module: DeliveryModule,
      imports: [DeliveryQueueModule, ...imports],
      providers: WORKER,
      exports: [Lanes, DeliveryWorker],
    };
  }
}
