import { FakeClock } from '../../../../test/doubles/fake-clock';
import type { AuditService } from '../../../audit/audit.service';
import { SECOND } from '../../../common/clock';
import type { Database } from '../../../database/pool/database.service';
import type { PrivacyKeyring } from '../requests/privacy-keyring.service';
import type { PrivacyRequestsRepository, RequestChanges } from '../requests/privacy-requests.repository';
import type { WebhookDeliveriesService } from '../../webhooks/deliveries/webhook-deliveries.service';
import { type LeasedRequest, PrivacyWork } from '../requests/privacy-work.service';
import { ErasureHandler } from './erasure-handler.service';
import type { ErasePage, ErasureSteps } from './erasure-steps.service';

const LEASED = {
  ...{ organizationId: 'o', mode: 'live', id: 'r', leaseToken: 't', attempts: 3 },
  ...{ subject: Buffer.from('x'), progress: {}, requestedAt: new Date(0) },
} as unknown as LeasedRequest;

describe('an erasure that looks through a large file', () => {
  const clock = new FakeClock();
  const running = new AbortController().signal;
  beforeEach(() => jest.useFakeTimers());

  /** The request as it is stored, while `prepare` finds a page. */
  function begin(prepare: () => Promise<ErasePage>) {
    const row: RequestChanges = { attempts: LEASED.attempts, progress: LEASED.progress };
    const requests = {
      change: (_: unknown, changes: RequestChanges) => Promise.resolve(!!Object.assign(row, changes)),
    };
    const database = { transaction: (work: (tx: object) => unknown) => work({}) } as unknown as Database;
    const work = new PrivacyWork(
      requests as unknown as PrivacyRequestsRepository,
      { decryptSubject: () => ({ email: 'ada@x.example' }) } as unknown as PrivacyKeyring,
      {} as AuditService,
      database,
      clock,
    );
    const steps = { targetOf: () => ({}), prepare } as unknown as ErasureSteps;
    return {
      row,
      ended: new ErasureHandler(steps, {} as WebhookDeliveriesService, work, database, clock).run(LEASED, running),
    };
  }

  it('keeps its lease, and neither counts as progress nor takes any back', async () => {
    let fail: (error: Error) => void = () => undefined;
    const { row, ended } = begin(() => new Promise((_, reject) => (fail = reject)));
    clock.advance(20 * SECOND);
    await jest.advanceTimersByTimeAsync(20 * SECOND);
    expect(row.leaseUntil?.getTime()).toBeGreaterThan(clock.now().getTime());
    expect(row).toMatchObject({ attempts: LEASED.attempts, progress: LEASED.progress });
    expect(Object.keys(row)).toEqual(['attempts', 'progress', 'leaseUntil']);
    fail(new Error('The worker dies'));
    await expect(ended).rejects.toThrow('The worker dies');
  });
});
