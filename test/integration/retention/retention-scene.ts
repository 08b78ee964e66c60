import { timeOfId } from '../../../src/common/ids';
import { Database } from '../../../src/database/pool/database.service';
import type { DeliveryOutcome, RecordedOutcome } from '../../../src/delivery/ports/outcome';
import { OutcomeRecorder } from '../../../src/modules/emails/outcomes/outcome-recorder.service';
import { type Month, monthOf, MONTHLY_TABLES, type MonthlyTable } from '../../../src/modules/emails/retention/months';
import { FakeClock } from '../../doubles/fake-clock';
import { recordedOutcome } from '../../factories/outcomes';
import type { Core } from '../../setup/core-context';
import { DeliveryScene } from '../../setup/delivery-scene';

/** A worker process beside an accepting one, whose jobs run when a test starts them. Ids are of the real time. */
export class RetentionScene {
  private constructor(
    readonly mail: DeliveryScene,
    readonly clock: FakeClock,
    readonly worker: Core,
  ) {}

  static async open(env: Record<string, string> = {}): Promise<RetentionScene> {
    const clock = new FakeClock(new Date());
    const mail = await DeliveryScene.open(clock);
    const options = { hopPort: 9, isRunning: false, env };
    return new RetentionScene(mail, clock, await mail.startWorker(options));
  }

  get db() {
    return this.mail.db;
  }

  get database(): Database {
    return this.mail.core.get(Database);
  }

  /** Goes when the scene closes. */
  startOtherWorker(): Promise<Core> {
    return this.mail.startWorker({ hopPort: 9, isRunning: false });
  }

  async close(): Promise<void> {
    await this.mail.close();
  }

  /** What becomes of a recipient, now; anything but a deferral takes it out of the queue. */
  async tell(emailId: string, outcome: DeliveryOutcome, fields: Partial<RecordedOutcome> = {}): Promise<void> {
    const occurredAt = this.clock.now();
    const recorded = recordedOutcome(this.mail.tenant, emailId, outcome, { occurredAt, ...fields });
    await this.database.transaction((tx) => this.mail.core.get(OutcomeRecorder).record([recorded], tx));
    if (outcome.kind === 'deferred') return;
    await this.db.query('delete from deliveries where email_id = $1 and position = $2', [emailId, recorded.position]);
  }

  /** An email that has been delivered at once. */
  async delivered(fields: Record<string, unknown> = {}): Promise<string> {
    const id = await this.mail.accept(fields);
    await this.tell(id, { kind: 'delivered' });
    return id;
  }

  /** Takes a month's partitions away, as if they had never been made. */
  async forgetMonth(month: Month): Promise<void> {
    for (const table of MONTHLY_TABLES) await this.db.query(`drop table if exists ${partitionOf(table, month)}`);
  }

  /** Names of the partitions that hold rows of an email, by table. */
  async placesOf(emailId: string): Promise<Record<string, string[]>> {
    const places: Record<string, string[]> = {};
    for (const table of MONTHLY_TABLES) {
      const key = table === 'emails' ? 'id' : 'email_id';
      const rows = await this.db.query<{ place: string }>(
        `select distinct tableoid::regclass::text as place from ${table} where ${key} = $1`,
        [emailId],
      );
      if (rows.length > 0) places[table] = rows.map(({ place }) => place);
    }
    return places;
  }

  async partitions(month: Month): Promise<MonthlyTable[]> {
    const found = MONTHLY_TABLES.map(async (table) => {
      const [row] = await this.db.query('select to_regclass($1) as oid', [partitionOf(table, month)]);
      return row?.oid === null ? [] : [table];
    });
    return (await Promise.all(found)).flat();
  }
}

export function partitionOf(table: MonthlyTable, month: Month): string {
  return `${table}_${month.toISOString().slice(0, 7).replace('-', '_')}`;
}

/** The month in which an email was accepted. */
export function monthOfEmail(id: string): Month {
  return monthOf(timeOfId(id));
}
