import fc from 'fast-check';
import { HOUR, MINUTE } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import type { ClaimedDelivery } from '../../../src/delivery/ports/delivery';
import { type DeliveryOutcome, OutcomeSink } from '../../../src/delivery/ports/outcome';
import { DeliveryQueueRepository } from '../../../src/delivery/queue/delivery-queue.repository';
import { QueueActionsService } from '../../../src/delivery/queue/queue-actions.service';
import { WorkerSessionsRepository } from '../../../src/delivery/queue/worker-sessions.repository';
import { Claimer } from '../../../src/delivery/worker/claims/claimer';
import { DeadClaims } from '../../../src/delivery/worker/crash-recovery';
import { ResultCommit } from '../../../src/delivery/results/result-commit';
import { EmailChangesService } from '../../../src/modules/emails/email-changes.service';
import { EmailsService } from '../../../src/modules/emails/emails.service';
import { type EmailStatus, foldStatus } from '../../../src/modules/emails/outcomes/email-state';
import { StatsCheckService } from '../../../src/modules/emails/outcomes/stats-check.service';
import { HARD_BOUNCE, outcomeOfClaim, SOFT_BOUNCE } from '../../factories/outcomes';
import type { StoredEmail } from '../../factories/stored-email';
import type { Core } from '../../setup/core-context';
import { DeliveryScene, createSigningTenant } from '../../setup/delivery-scene';
import type { Tenant } from '../../factories/tenants';

const ENDED = ['sent', 'delivered', 'bounced', 'failed'];
const LATER = new Date(Date.now() + HOUR);

const OFTEN = ['claim', 'settle'] as const;
const SOMETIMES = ['due', 'suspects', 'overdue', 'late', 'begin', 'release', 'die', 'reap', 'end'] as const;
const BY_OTHERS = ['hold', 'unhold', 'retry', 'fail', 'cancel', 'move'] as const;

/** What may happen to the mail of one tenant; `pick` chooses which session, claim or email. */
interface Step {
  readonly kind: (typeof OFTEN | typeof SOMETIMES | typeof BY_OTHERS)[number];
  readonly pick: number;
  readonly outcome: DeliveryOutcome;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(...OFTEN, ...OFTEN, ...OFTEN, ...SOMETIMES, ...BY_OTHERS),
  pick: fc.nat(),
  outcome: fc.constantFrom<DeliveryOutcome>(
    { kind: 'delivered' },
    { kind: 'sent' },
    { kind: 'deferred', nextAttemptAt: LATER, reason: 'a test' },
    { kind: 'unknown', nextAttemptAt: LATER, reason: 'a test' },
    HARD_BOUNCE,
    SOFT_BOUNCE,
  ),
});

/** Two workers, an operator and a client, at one tenant's mail. */
class Story {
  private sessions: { id: string; claims: ClaimedDelivery[] }[] = [];
  /** Claims that have ended in whatever way; what comes for them is late. */
  private readonly ended: ClaimedDelivery[] = [];

  constructor(
    private readonly scene: DeliveryScene,
    private readonly worker: Core,
    private readonly tenant: Tenant,
    private readonly emails: readonly string[],
  ) {}

  private get queue() {
    return this.worker.get(DeliveryQueueRepository);
  }

  private async session(pick: number) {
    while (this.sessions.length < 2) {
      const id = newId();
      await this.worker.get(WorkerSessionsRepository).begin(id, 'test', 1, 3_600);
      this.sessions.push({ id, claims: [] });
    }
    return this.sessions[pick % 2]!;
  }

  private take(pick: number): ClaimedDelivery | undefined {
    const open = this.sessions.filter(({ claims }) => claims.length > 0);
    const session = open[pick % Math.max(1, open.length)];
    return session?.claims.splice(pick % session.claims.length, 1)[0];
  }

  private async commit(claim: ClaimedDelivery, outcome: DeliveryOutcome): Promise<void> {
    this.ended.push(claim);
    await this.worker.get(ResultCommit).commit([{ claim, outcomes: [outcomeOfClaim(claim, outcome)] }]);
  }

  private async act(action: 'hold' | 'release' | 'retry_now' | 'fail', pick: number): Promise<void> {
    const emailId = this.emails[pick % this.emails.length];
    const filter = { organizationId: this.tenant.organizationId, ...(pick % 3 > 0 && { emailId }) };
    const { id } = await this.worker
      .get(QueueActionsService)
      .create({ action, filter, reason: 'a test', actor: 'test' }, () => Promise.resolve());
    await this.worker.get(QueueActionsService).workOff(this.worker.get(OutcomeSink), { only: id });
  }

  async play({ kind, pick, outcome }: Step): Promise<void> {
    const session = await this.session(pick);
    const emailId = this.emails[pick % this.emails.length]!;
    switch (kind) {
      case 'due':
        await this.scene.db.query("update deliveries set due_at = now() - interval '1 second' where state = 'waiting'");
        return void (await this.queue.promoteDue(new Date(), 100));
      case 'claim':
        return void session.claims.push(
          ...(await this.worker.get(Claimer).claim(session.id, { limit: 1 + (pick % 4) })),
        );
      case 'suspects':
        return void session.claims.push(...(await this.queue.claimSuspects(session.id, [])));
      case 'overdue': {
        await this.scene.db.query(
          "update deliveries set expires_at = now() where email_id = $1 and state <> 'claimed'",
          [emailId],
        );
        const overdue = await this.queue.claimOverdue(session.id, new Date(), 100, new Date(0));
        for (const claim of overdue) await this.commit(claim, { kind: 'failed', reason: 'expired' });
        return;
      }
      case 'settle': {
        const claim = this.take(pick);
        return claim && this.commit(claim, outcome);
      }
      case 'late': {
        const claim = this.ended[pick % Math.max(1, this.ended.length)];
        return claim && this.commit(claim, outcome);
      }
      case 'begin': {
        const claim = session.claims[pick % Math.max(1, session.claims.length)];
        return claim && this.worker.get(ResultCommit).begin([claim]);
      }
      case 'release': {
        const claim = this.take(pick);
        if (claim) this.ended.push(claim);
        return claim && this.queue.release([claim]);
      }
      case 'die':
        await this.scene.db.query(
          "update worker_sessions set lease_until = now() - interval '1 second' where id = $1",
          [session.id],
        );
        this.ended.push(...session.claims);
        this.sessions = this.sessions.filter((one) => one !== session);
        return;
      case 'reap':
        return void (await this.worker.get(DeadClaims).free(1 + (pick % 3)));
      case 'end':
        await this.worker.get(WorkerSessionsRepository).end(session.id);
        this.ended.push(...session.claims);
        this.sessions = this.sessions.filter((one) => one !== session);
        return;
      case 'hold':
        return this.act('hold', pick);
      case 'unhold':
        return this.act('release', pick);
      case 'retry':
        return this.act('retry_now', pick);
      case 'fail':
        return this.act('fail', pick);
      case 'cancel':
        return this.worker
          .get(EmailsService)
          .cancel(this.tenant.as('live'), emailId)
          .catch(expected('email_not_cancellable'));
      case 'move':
        return this.worker
          .get(EmailChangesService)
          .reschedule(this.tenant.as('live'), emailId, new Date(Date.now() + 5 * MINUTE))
          .catch(expected('email_not_reschedulable'));
    }
  }

  /** Delivers all that is left. */
  async finish(): Promise<void> {
    for (let round = 0; round < 30; round += 1) {
      const session = await this.session(0);
      for (const { id, claims } of this.sessions) {
        await this.queue.release(claims.splice(0));
        expect(await this.queue.findHeld(id, LATER)).toEqual([]);
      }
      await this.act('release', 0);
      while ((await this.worker.get(DeadClaims).free(100)) > 0);
      await this.play({ kind: 'due', pick: 0, outcome: { kind: 'sent' } });
      session.claims.push(...(await this.worker.get(Claimer).claim(session.id, { limit: 100 })));
      session.claims.push(...(await this.queue.claimSuspects(session.id, [])));
      for (const claim of session.claims.splice(0)) await this.commit(claim, { kind: 'delivered' });
      if (Object.keys(await this.scene.queue()).length === 0) return;
    }
    throw new Error(`Left in the queue: ${JSON.stringify(await this.scene.db.query('select * from deliveries'))}`);
  }
}

const expected = (code: string) => (error: Error & { code?: string }) => {
  if (error.code !== code) throw error;
};

/** Whatever has happened: an open recipient is in the queue, and one in the queue is open. */
async function assertConsistent(scene: DeliveryScene, { organizationId }: Tenant): Promise<void> {
  const rows = await scene.db.query<Record<string, unknown>>(
    `select r.email_id, r.position, r.status, e.status as email_status, d.state, d.attempt, d.crashes,
       d.session_id is not null as has_session
     from email_recipients r
     join emails e on e.organization_id = r.organization_id and e.id = r.email_id
     left join deliveries d on d.organization_id = r.organization_id and d.email_id = r.email_id and d.position = r.position
     where r.organization_id = $1`,
    [organizationId],
  );
  const isOpen = (row: Record<string, unknown>) => !ENDED.includes(String(row.status));
  for (const row of rows) {
    const ofEmail = rows.filter(({ email_id }) => email_id === row.email_id);
    expect(row).toMatchObject({
      email_status: foldStatus(ofEmail.map(({ status }) => status as EmailStatus)),
      state: isOpen(row) ? expect.any(String) : null,
      has_session: row.state === 'claimed',
    });
    expect(Number(row.attempt ?? 0)).toBeGreaterThanOrEqual(0);
    expect(Number(row.crashes ?? 0)).toBeGreaterThanOrEqual(0);
  }
}

/** Each event once, in order; the first says that the email was accepted. */
function assertEvents({ events }: StoredEmail): void {
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  expect(events[0]).toMatchObject({ event_type: 'queued' });
}

describe('the life of a delivery', () => {
  let scene: DeliveryScene;
  let worker: Core;

  beforeAll(async () => {
    scene = await DeliveryScene.open();
  });
  afterAll(() => scene.close());

  it('keeps queue, recipients, events and counters in step, in whatever order workers, operators and clients act', async () => {
    worker = await scene.startWorker({ hopPort: 9, isRunning: false });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const tenant = await createSigningTenant(scene.core, `t${(run += 1)}.example`);
        await scene.db.query('delete from deliveries');
        await scene.db.query('delete from worker_sessions');
        const emails: string[] = [];
        for (const to of [
          ['ada@x.example'],
          ['bob@x.example', 'cy@y.example'],
          ['di@y.example', 'ed@y.example', 'fi@z.example'],
        ]) {
          emails.push(await scene.accept({ to, from: `hello@${tenant.domain}` }, 'live', tenant));
        }
        const story = new Story(scene, worker, tenant, emails);
        for (const one of steps) {
          await story.play(one);
          await assertConsistent(scene, tenant);
        }
        await story.finish();
        await assertConsistent(scene, tenant);
        for (const id of emails) assertEvents(await scene.read(id));
        const now = Date.now();
        const period = {
          from: new Date(Math.floor(now / HOUR - 1) * HOUR),
          to: new Date(Math.floor(now / HOUR + 1) * HOUR),
        };
        const { drifts } = await worker.get(StatsCheckService).check(period, tenant.organizationId);
        expect(drifts).toEqual([]);
      }),
      { numRuns: 15, endOnFailure: true },
    );
  });
});
