import { RecipientLink } from '../../../../src/delivery/tokens/recipient-link';
import { type SinkMessage, SmtpSink } from '../../../doubles/smtp-sink';
import { readCounters, readStoredEmail } from '../../../factories/stored-email';
import { type Api, startApi } from '../../../setup/api-context';
import { testConfig } from '../../../setup/core-context';
import { DeliveryScene } from '../../../setup/delivery-scene';

/** The master key has been changed to that of `testConfig`. */
export const PREVIOUS_KEY = Buffer.alloc(32, 9);
/** A proxy in front takes the prefix off. */
const PUBLIC_URL = 'https://mail.example.org/base';

export interface BulkMail {
  readonly id: string;
  /** By recipient. */
  readonly messages: ReadonlyMap<string, SinkMessage>;
}

export interface LinkFields {
  readonly position?: number;
  readonly ordinal?: number;
  readonly masterKey?: Buffer;
}

/** A tenant, a worker, the recipients' server and the API, as other processes of one installation. */
export class UnsubscribeScene {
  private constructor(
    readonly scene: DeliveryScene,
    private readonly sink: SmtpSink,
    private readonly api: Api,
  ) {}

  /** @param databaseUrlOf where the API finds the database, if not there directly */
  static async start(
    databaseUrlOf = (url: string): Promise<string> => Promise.resolve(url),
  ): Promise<UnsubscribeScene> {
    const scene = await DeliveryScene.open();
    const sink = await SmtpSink.start();
    await scene.startWorker({ hopPort: sink.port, isFinalHop: true, env: { PUBLIC_URL } });
    const env = { PUBLIC_URL, MASTER_KEY_PREVIOUS: PREVIOUS_KEY.toString('base64') };
    return new UnsubscribeScene(scene, sink, await startApi(await databaseUrlOf(scene.db.url), { env }));
  }

  /** Sends one email as `bulk` to its end. */
  async sendBulk(to: readonly string[], fields: Record<string, unknown> = {}): Promise<BulkMail> {
    this.sink.clear();
    const id = await this.scene.accept({ to, category: 'bulk', ...fields });
    await this.scene.readWhen(
      id,
      ({ recipients }) => recipients.every(({ status }) => status === 'delivered'),
      'all to be delivered',
    );
    // Mail of an earlier test may arrive meanwhile.
    const own = this.sink.messages.filter(({ content }) => content.includes(id));
    return { id, messages: new Map(own.map((message) => [message.recipients.join(), message])) };
  }

  /** All that the recipients' server was given since the last `sendBulk`. */
  get received(): readonly SinkMessage[] {
    return this.sink.messages;
  }

  /** The path of the link in a mail, as the proxy in front passes it on. */
  linkIn({ messages }: BulkMail, recipient: string): string {
    const { content } = messages.get(recipient)!;
    const link = /^List-Unsubscribe: <([^>\r\n]+)>/m.exec(content.toString('latin1'))?.[1] ?? '';
    expect(link.startsWith(`${PUBLIC_URL}/u/`)).toBe(true);
    return link.slice(PUBLIC_URL.length);
  }

  /** A genuine link to whatever is wanted. */
  async linkTo(emailId: string, { position = 0, ordinal, masterKey = testConfig().masterKey }: LinkFields = {}) {
    const { organizationId } = this.scene.tenant;
    const [row] = await this.scene.db.query('select ordinal from organizations where id = $1', [organizationId]);
    const target = { organizationOrdinal: ordinal ?? row?.ordinal, mode: 'live' as const, emailId, position };
    return `/u/${new RecipientLink(masterKey).issue('unsubscribe', target)}`;
  }

  call(method: string, path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.api.port}${path}`, { method, redirect: 'manual', ...init });
  }

  suppressions() {
    return this.scene.db.query(
      'select organization_id, mode, email, reason, source from suppressions order by address_key',
    );
  }

  /** Everything that unsubscribing may write. */
  async written(emailId: string) {
    const { email, recipients, events } = await readStoredEmail(this.scene.db, emailId);
    const counters = await readCounters(this.scene.db, this.scene.tenant.organizationId);
    return { email, recipients, events, counters, suppressions: await this.suppressions() };
  }

  /** What the events of an email say of unsubscribing. */
  async unsubscriptions(emailId: string) {
    const { events } = await readStoredEmail(this.scene.db, emailId);
    return events
      .filter(({ event_type }) => event_type === 'unsubscribed')
      .map(({ source, data }) => ({ source, ...data }));
  }

  async close(): Promise<void> {
    await this.api.close();
    await this.scene.close();
    await this.sink.stop();
  }
}
