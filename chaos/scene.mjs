import { ClientLedger, SinkLedger, WebhookLedger } from './ledgers/ledgers.mjs';
import { WEBHOOK_EVENTS } from './ledgers/service-view.mjs';
import { ReleaseLog } from './ledgers/release-log.mjs';
import { FaultLog } from './ledgers/fault-log.mjs';
import { Client } from './network/client.mjs';
import { Dns } from './network/dns.mjs';
import { Sink } from './network/sink.mjs';
import { WebhookReceiver } from './network/webhook-receiver.mjs';
import { Database } from './processes/database.mjs';
import { Fleet } from './processes/fleet.mjs';
import { provision } from './processes/provision.mjs';
import { thisRelease } from './processes/release.mjs';
import { say } from './say.mjs';
import { FaultInjector } from './fault-injector.mjs';

/** Everything that takes part in a run: the product's processes, their database, and the clients, receivers and name server around them, with their ledgers. */
export class Scene {
  clientLedger = new ClientLedger();
  sinkLedger = new SinkLedger();
  webhookLedger = new WebhookLedger();
  releaseLog = new ReleaseLog(this.sinkLedger);
  #plan;
  #folder;
  #releases;
  #started = [];

  /** @param folder for the database and the logs @param releases `{old, new}`: what to start with, and what to upgrade to */
  constructor(plan, folder, releases = { old: thisRelease(), new: thisRelease() }) {
    this.#plan = plan;
    this.#folder = folder;
    this.#releases = releases;
  }

  async start() {
    const [plan, folder] = [this.#plan, this.#folder];
    const { smtpPort, dnsServer, webhookPort } = await this.#startSurroundings();
    this.database = this.#keep(await Database.start(folder));
    this.environment = Fleet.environment({ folder, databaseUrl: this.database.url, plan, smtpPort, dnsServer });
    const { environment, database } = this;
    const releases = this.#releases;
    const { load } = releases.old;
    this.tenants = await provision({ environment, databaseUrl: database.url, load }, plan.tenants);
    this.fleet = this.#keep(new Fleet());
    const { fleet, sink, log, releaseLog } = this;
    this.faultInjector = new FaultInjector({ fleet, database, sink, log, plan, releases, releaseLog, environment });
    await fleet.start({ folder, plan, database, environment, observer: this.faultInjector, release: releases.old });
    const ports = () => this.fleet.apiPorts;
    const onResponse = (port) => releaseLog.answered(port);
    this.client = this.#keep(new Client({ ports, tenants: this.tenants, ledger: this.clientLedger, onResponse }));
    for (const tenant of this.tenants.keys()) await this.#addWebhook(tenant, webhookPort);
  }

  /** Ends the faults of receiving servers and of the webhook receiver. */
  relax() {
    this.sink.relax();
    this.receiver.relax();
  }

  /** In the reverse order of the start; what did not start is left out. */
  async stop() {
    for (const part of this.#started.splice(0).reverse()) {
      await Promise.resolve(part.stop()).catch((error) => say(error.stack));
    }
  }

  async #startSurroundings() {
    const { destinations, requests, seed } = this.#plan;
    const recipients = requests.flatMap(({ messages }) => messages).flatMap((message) => message.recipients);
    const prompt = new Set(recipients.filter(({ kind }) => kind === 'ok').map(({ address }) => address));
    this.log = new FaultLog(this.sinkLedger, (address) => prompt.has(address));
    this.sink = this.#keep(new Sink(this.sinkLedger, seed));
    await this.sink.start(destinations);
    this.receiver = this.#keep(new WebhookReceiver(this.webhookLedger, seed));
    const dns = this.#keep(new Dns(destinations));
    return { smtpPort: this.sink.port, dnsServer: await dns.start(), webhookPort: await this.receiver.start() };
  }

  async #addWebhook(tenant, port) {
    const body = { url: `http://127.0.0.1:${port}/${tenant}`, events: WEBHOOK_EVENTS };
    const { status, body: answer } = await this.client.call('POST', '/v1/webhooks', tenant, { body });
    if (status !== 201) throw new Error(`The webhook of tenant ${tenant}: ${status} ${JSON.stringify(answer)}`);
  }

  #keep(part) {
    this.#started.push(part);
    return part;
  }
}
