import { Resolver } from 'node:dns/promises';
import { dkimVerify } from 'mailauth/lib/dkim/verify';
import { DkimKeysService } from '../../../src/modules/domains/dkim/dkim-keys.service';
import { DkimKeysRepository } from '../../../src/modules/domains/dkim/dkim-keys.repository';
import { PublicKeysService } from '../../../src/modules/domains/dkim/public-keys.service';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { SmtpSink } from '../../doubles/smtp-sink';
import { sendBody } from '../../factories/send-requests';
import { waitFor } from '../../setup/wait-for';
import { startWorker } from '../../setup/worker-context';
import { DomainsApp, type Owner } from './domains-app';

export interface Signature {
  readonly selector: string;
  readonly result: string;
}

/** A domain whose mail is sent, received and verified against the DNS of that moment. */
export class RotationScene {
  private constructor(
    readonly app: DomainsApp,
    private readonly sink: SmtpSink,
    private readonly owner: Owner,
    private readonly domainId: string,
    private readonly env: Record<string, string>,
  ) {}

  /** A verified domain with all of its records in DNS. */
  static async open(env: Record<string, string> = {}): Promise<RotationScene> {
    const app = await DomainsApp.start(env);
    const owner = await app.owner();
    const { body } = await owner.api.post('/v1/domains', { domain: 'acme.example' });
    const scene = new RotationScene(app, await SmtpSink.start(), owner, body.data.id, env);
    await scene.publishListed();
    const { data } = await scene.verify();
    expect(data).toMatchObject({ success: true, dkim_verified: true, errors: [] });
    return scene;
  }

  async domain(): Promise<any> {
    return (await this.owner.api.get(`/v1/domains/${this.domainId}`)).body.data;
  }

  rotate() {
    return this.owner.api.post(`/v1/domains/${this.domainId}/rotate-dkim`);
  }

  async verify(): Promise<any> {
    return (await this.owner.api.post(`/v1/domains/${this.domainId}/verify`)).body;
  }

  /** The hosts of the listed keys. */
  async listedSelectors(): Promise<string[]> {
    const { records } = await this.domain();
    const hosts = records.filter(({ purpose }: any) => purpose === 'dkim').map(({ host }: any) => host.split('.')[0]);
    return hosts as string[];
  }

  /** The owner publishes what the domain lists, no more and no less. */
  async publishListed(): Promise<void> {
    this.app.dns.set({ 'wb1._domainkey.acme.example': {}, 'wb2._domainkey.acme.example': {} });
    this.app.publish(await this.domain());
    await this.publishZone();
  }

  /** The delegated zone as a responder without a cache serves it. */
  async publishZone(): Promise<void> {
    const { DKIM_ZONE: zone } = this.env;
    if (zone === undefined) return;
    const responder = new PublicKeysService(this.app.get(DkimKeysRepository), this.app.clock);
    const keys = await responder.publishedBy(this.domainId);
    for (const selector of ['wb1', 'wb2']) {
      const text = keys.get(selector);
      this.app.dns.set({ [`${selector}.${this.domainId}.${zone}`]: text ? { TXT: [text.match(/.{1,255}/g)!] } : {} });
    }
  }

  removeExpired(): Promise<number> {
    return this.app.get(DkimKeysService).removeExpired();
  }

  /** Sends a mail through a worker that remembers nothing, and returns its bytes. */
  async send(): Promise<Buffer> {
    const { organizationId } = this.owner;
    const before = this.sink.messages.length;
    await this.app
      .get(SendEmailsService)
      .sendOne(sendBody(), undefined, { organizationId, mode: 'live', domainId: undefined });
    const options = { hopPort: this.sink.port, clock: this.app.clock, isFinalHop: true, env: this.env };
    const worker = await startWorker(this.app.db.url, options);
    try {
      await waitFor(() => this.sink.messages.length > before, { what: 'the mail' });
    } finally {
      await worker.close();
    }
    return this.sink.messages.at(-1)!.content;
  }

  /** What a receiver finds that looks the key up now, with a library that is not ours. */
  async check(content: Buffer): Promise<Signature> {
    const dns = new Resolver();
    dns.setServers([this.app.dns.endpoint]);
    const { results } = await dkimVerify(content, {
      curTime: this.app.clock.now(),
      resolver: (name: string, type: string) => dns.resolve(name, type) as never,
    });
    const [{ selector, status }] = results as any;
    return { selector, result: status.result };
  }

  async sendAndCheck(): Promise<Signature> {
    return this.check(await this.send());
  }

  async close(): Promise<void> {
    await this.sink.stop();
    await this.app.close();
  }
}
