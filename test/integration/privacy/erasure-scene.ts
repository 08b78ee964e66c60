import { newId } from '../../../src/common/ids';
import type { Mode } from '../../../src/common/tenant';
import { Database } from '../../../src/database/pool/database.service';
import type { DeliveryOutcome } from '../../../src/delivery/ports/outcome';
import { OutcomeRecorder } from '../../../src/modules/emails/outcomes/outcome-recorder.service';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { ErasureHandler } from '../../../src/modules/privacy/erasure/erasure-handler.service';
import {
  ERASURE,
  PrivacyRequestsService,
  type ShownRequest,
} from '../../../src/modules/privacy/requests/privacy-requests.service';
import { PrivacyWork } from '../../../src/modules/privacy/requests/privacy-work.service';
import { FakeClock } from '../../doubles/fake-clock';
import { recordedOutcome } from '../../factories/outcomes';
import { sendBody } from '../../factories/send-requests';
import { createTenant, type Tenant } from '../../factories/tenants';
import type { Core } from '../../setup/core-context';
import { DeliveryScene } from '../../setup/delivery-scene';

/** Nothing is sent there. */
const NO_HOP = 9;

/** A tenant, and a worker that erases on request. */
export class ErasureScene {
  private constructor(
    readonly delivery: DeliveryScene,
    readonly clock: FakeClock,
    readonly worker: Core,
  ) {}

  /** @param env of the worker */
  static async open(env?: Record<string, string>): Promise<ErasureScene> {
    const clock = new FakeClock(new Date());
    const delivery = await DeliveryScene.open(clock);
    const worker = await delivery.startWorker({ hopPort: NO_HOP, isRunning: false, ...(env && { env }) });
    return new ErasureScene(delivery, clock, worker);
  }

  get db() {
    return this.delivery.db;
  }

  get tenant(): Tenant {
    return this.delivery.tenant;
  }

  newTenant(): Promise<Tenant> {
    return createTenant(this.db);
  }

  async send(fields: Record<string, unknown>, { key, as = this.tenant, mode = 'live' }: SendOptions = {}) {
    const sender = this.delivery.core.get(SendEmailsService);
    return (await sender.sendOne(sendBody(fields), key, as.as(mode))).accepted;
  }

  /** Tells what became of the mail to the recipient at `position`. */
  async tell(emailId: string, recipient: string, outcome: DeliveryOutcome, position = 0): Promise<void> {
    const fields = { recipient, position, occurredAt: this.clock.now() };
    const recorded = recordedOutcome(this.tenant, emailId, outcome, fields);
    await this.worker.get(Database).transaction((tx) => this.worker.get(OutcomeRecorder).record([recorded], tx));
  }

  request(email: string, { organizationId }: Tenant = this.tenant, mode: Mode = 'live'): Promise<ShownRequest> {
    const requester = { organizationId, mode, apiKeyId: newId() };
    return this.worker.get(PrivacyRequestsService).createErasure(requester, { email, reason: `of ${email}` });
  }

  /** Works on the oldest request as far as it goes at once, turn by turn. */
  async workOff(worker = this.worker, signal = new AbortController().signal): Promise<void> {
    let isYielded: boolean;
    do {
      const leased = await worker.get(PrivacyWork).claimNext(ERASURE);
      if (!leased) throw new Error('There is no request to work off');
      await worker.get(ErasureHandler).run(leased, signal);
      const [row] = await this.db.query('select status, lease_token from privacy_requests where id = $1', [leased.id]);
      isYielded = row?.status === 'processing' && row.lease_token === null;
    } while (isYielded && !signal.aborted);
  }

  read({ organizationId, mode, id }: ShownRequest): Promise<ShownRequest> {
    return this.worker.get(PrivacyRequestsService).get({ organizationId, mode }, ERASURE, id);
  }

  async erase(email: string, tenant: Tenant = this.tenant, mode: Mode = 'live'): Promise<ShownRequest> {
    const request = await this.request(email, tenant, mode);
    await this.workOff();
    return this.read(request);
  }

  /** The tables whose rows hold a text, whatever its case; bytes are looked at as text. */
  async tablesWith(...texts: readonly string[]): Promise<string[]> {
    const columns = await this.db.query<{ name: string; texts: string }>(`
      select c.table_name as name, string_agg(
        case when data_type = 'bytea' then format('encode(%I, ''escape'')', column_name) else format('%I::text', column_name) end,
        ', ') as texts
      from information_schema.columns c
      join information_schema.tables t using (table_schema, table_name)
      where table_schema = 'public' and table_type = 'BASE TABLE'
      group by 1`);
    const holding: string[] = [];
    for (const { name, texts: values } of columns) {
      const pattern = texts.map((text) => text.replace(/[^a-z0-9]/gi, '\\$&')).join('|');
      const [row] = await this.db.query(
        `select 1 from (select concat_ws(' ', ${values}) as line from only "${name}") r where line ~* $1 limit 1`,
        [pattern],
      );
      if (row) holding.push(name.replace(/_(default|p?\d+(_\d+)?)$/, ''));
    }
    return [...new Set(holding)].sort();
  }

  close(): Promise<void> {
    return this.delivery.close();
  }
}

interface SendOptions {
  readonly key?: string;
  readonly as?: Tenant;
  readonly mode?: Mode;
}
