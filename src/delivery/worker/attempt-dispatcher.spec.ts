import { FakeClock } from '../../../test/doubles/fake-clock';
import { claimOf } from '../../../test/setup/recipient-copies';
import { AttemptDispatcher } from './attempt-dispatcher';
import type { AttemptService } from './attempts/attempt.service';
import { ClaimPlanner } from './claims/claim-plan';
import type { PreparedMessage } from '../compose/message-composer';
import type { SmtpTransmitter } from './attempts/smtp-transmitter';
import type { WorkSignal } from './session/work-signal';
import { WorkerSlots } from './slots/worker-slots';

it('a route whose look-up fails by a fault of this side is an attempt that has failed, and holds nothing of the worker', async () => {
  const clock = new FakeClock();
  const slots = new WorkerSlots(clock, { slots: 4, sharedHop: false, connectionsPerHost: 4 });
  const planner = new ClaimPlanner(slots, { slots: 4, startConcurrency: 2 }, clock);
  const transmitter = { routeTo: () => Promise.reject(new Error('a fault')) } as unknown as SmtpTransmitter;
  const failed: unknown[] = [];
  const attempts = { fail: (_claim: unknown, error: unknown) => failed.push(error) } as unknown as AttemptService;
  const dispatcher = new AttemptDispatcher(attempts, transmitter, slots, planner, {} as WorkSignal, clock);
  let drops = 0;
  const message = { isExempt: false, isPresent: true, drop: () => (drops += 1) } as unknown as PreparedMessage;
  await dispatcher.enter(claimOf(0), message);
  expect(failed).toEqual([new Error('a fault')]);
  expect([planner.size, drops]).toEqual([0, 1]);
});
