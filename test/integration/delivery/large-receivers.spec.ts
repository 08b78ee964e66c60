import { checkEgress } from '../../../src/cli/doctor/database-checks';
import type { Services } from '../../../src/cli/session/cli-session';
import type { ReplyAction } from '../../../src/delivery/policy/replies/reply-rule';
import { RULE_FILES } from '../../../src/delivery/policy/replies/reply-rules';
import { DestinationsService } from '../../../src/delivery/shaping/destinations.service';
import { EgressService } from '../../../src/delivery/egress/egress.service';
import { EgressSyncJob } from '../../../src/delivery/worker/egress.job';
import { ShapingSync } from '../../../src/delivery/worker/slots/shaping-sync.job';
import { toDetailDto } from '../../../src/modules/emails/dto/email.mapper';
import { EmailsService } from '../../../src/modules/emails/emails.service';
import type { StoredEmail } from '../../factories/stored-email';
import { FakeClock } from '../../doubles/fake-clock';
import { PortRouter } from '../../doubles/port-router';
import { type ReceiverPhase, type ReceiverScript, Receivers } from '../../doubles/receivers';
import type { Core } from '../../setup/core-context';
import { createSigningTenant, DeliveryScene } from '../../setup/delivery-scene';
import { waitFor } from '../../setup/wait-for';

/** In the subject and in both bodies: nothing that is noted of an attempt may hold it. */
const CANARY = 'kanarienvogel';
const MAILS_OF_SENDER = 60;
const PHASES: readonly string[] = ['greeting', 'mail', 'rcpt', 'data', 'final'] satisfies ReceiverPhase[];

/** One reply of one receiver, as it has been seen, and what its rule says. */
interface Case {
  readonly rule: { readonly id: string; readonly class: string; readonly action: ReplyAction };
  readonly phase: ReceiverPhase;
  readonly reply: string;
  readonly domain: string;
  readonly address: string;
}

const CASES: readonly Case[] = RULE_FILES.flatMap(({ rules }) => rules)
  .flatMap(({ replies, ...ruleOf }) => replies.map((example) => ({ ruleOf, example })))
  .map(({ ruleOf, example }, index) => {
    const [phase = '', reply = ''] = example.split(' | ');
    const address = `127.1.${Math.floor(index / 200)}.${(index % 200) + 1}`;
    const { id, class: kind } = ruleOf;
    const rule = { id, class: kind, action: ruleOf.action as ReplyAction };
    return { rule, phase: phase as ReceiverPhase, reply, domain: `r${index}.example`, address };
  })
  .filter(({ phase }) => PHASES.includes(phase));

/** Before RCPT nothing is said of the mail but its size: all else is tried again. */
function isBounce({ rule, phase }: Case): boolean {
  if (rule.action !== 'bounce' && rule.action !== 'bounce_and_suppress') return false;
  return rule.class === 'size' || (phase !== 'greeting' && phase !== 'mail');
}

/** Nothing is under way, nor about to be. */
const isAtRest = ({ ready = 0, claimed = 0 }: Record<string, number>) => ready + claimed === 0;

describe('receivers that speak as the large ones do', () => {
  let scene: DeliveryScene;
  let receivers: Receivers;
  let addresses: Map<string, string>;

  beforeAll(async () => {
    scene = await DeliveryScene.open(new FakeClock());
  });
  beforeEach(async () => {
    receivers = await Receivers.start();
    addresses = new Map();
  });
  afterEach(async () => {
    await scene.clear();
    await receivers.stop();
  });
  afterAll(() => scene.close());

  const start = () => {
    const router = new PortRouter((domain) => ({
      port: receivers.port,
      hosts: [{ hostName: `mx.${domain}`, addresses: [addresses.get(domain) ?? '127.0.0.1'] }],
    }));
    return scene.startWorker({ hopPort: 1, router, env: { DRAIN_SECONDS: '1' } });
  };
  function play(domain: string, address: string, script: ReceiverScript): void {
    addresses.set(domain, address);
    receivers.scripts.set(address, script);
  }
  const accept = (domain: string, n = 0, sender = scene.tenant) => {
    const content = { subject: CANARY, text: `${CANARY} text`, html: `<p>${CANARY} html</p>` };
    return scene.accept({ to: [`r${n}@${domain}`], ...content }, 'live', sender);
  };
  async function waitingOf(id: string) {
    const [owner] = await scene.db.query<{ organizationId: string }>(
      'select organization_id as "organizationId" from emails where id = $1',
      [id],
    );
    const tenant = { organizationId: owner?.organizationId ?? '', mode: 'live', domainId: undefined } as const;
    return toDetailDto(await scene.core.get(EmailsService).detail(tenant, id)).recipients[0]?.waiting;
  }
  const lastEvents = () =>
    scene.db.query<{ id: string; type: string; data: Record<string, unknown> }>(
      `select distinct on (email_id) email_id as id, event_type as type, data from email_events
       where event_type in ('delivered', 'deferred', 'bounced', 'failed', 'unknown') order by email_id, id desc`,
    );
  const suppressed = async () => {
    const rows = await scene.db.query<{ email: string }>('select email from suppressions');
    return rows.map(({ email }) => email).sort();
  };
  const known = async (worker: Core, domain: string) => {
    await worker.get(ShapingSync).sync();
    return worker.get(DestinationsService).get(domain);
  };

  it('are understood, with every reply of every rule, from the socket to the event', async () => {
    expect(CASES.length).toBeGreaterThanOrEqual(300);
    const byId = new Map<string, Case>();
    // Of several senders: one with so many bounces among a hundred mails would be slowed.
    for (let first = 0; first < CASES.length; first += MAILS_OF_SENDER) {
      const sender = await createSigningTenant(scene.core, `sender${first}.example`);
      const sent = CASES.slice(first, first + MAILS_OF_SENDER).map(async (one) => {
        play(one.domain, one.address, { refuses: one });
        byId.set(await accept(one.domain, 0, sender), one);
      });
      await Promise.all(sent);
    }
    const worker = await start();
    const events = await waitFor(
      async () => {
        const found = await lastEvents();
        return found.length >= CASES.length && found;
      },
      { what: 'all replies to be heard', timeoutMs: 120_000 },
    );
    const told = events.map(({ id, type, data }) => ({
      ...{ domain: byId.get(id)?.domain ?? id, type, rule: data.ruleId, class: data.class },
    }));
    const wanted = CASES.map((one) => ({
      ...{ domain: one.domain, type: isBounce(one) ? 'bounced' : 'deferred' },
      ...{ rule: one.rule.id, class: one.rule.class },
    }));
    const byDomain = (a: { domain: string }, b: { domain: string }) => a.domain.localeCompare(b.domain);
    expect(told.toSorted(byDomain)).toEqual(wanted.toSorted(byDomain));
    // A recipient's fault suppresses, and nothing else does.
    const faulty = CASES.filter(({ rule }) => rule.action === 'bounce_and_suppress');
    expect(await suppressed()).toEqual(faulty.map(({ domain }) => `r0@${domain}`).sort());
    await worker.get(EgressSyncJob).sync();
    await expectReasons(byId, worker);
    await expectNoCanary();
  });

  /** Whatever waits says why, and its receiver is shaped as the rule wants. */
  async function expectReasons(byId: ReadonlyMap<string, Case>, worker: Core): Promise<void> {
    const reasons = { retry: 'retry', slow: 'destination_slowed', suspend: 'destination_paused' } as const;
    const states = { retry: ['open', 'slowed'], slow: ['slowed', 'paused'], suspend: ['paused'] } as const;
    await worker.get(ShapingSync).sync();
    const shaped = new Map((await worker.get(DestinationsService).list()).map((one) => [one.key, one.state]));
    for (const [id, { rule, domain }] of byId) {
      const { action } = rule;
      if (action === 'bounce' || action === 'bounce_and_suppress') continue;
      expect([rule.id, await waitingOf(id)]).toEqual([
        rule.id,
        { reason: reasons[action], until: expect.any(String), detail: expect.any(String) },
      ]);
      expect([rule.id, states[action]]).toEqual([rule.id, expect.arrayContaining([shaped.get(domain)])]);
    }
    const burnt = CASES.filter(({ rule }) => rule.class === 'reputation' && rule.action === 'suspend');
    const pools = await worker.get(EgressService).list();
    const held = pools.flatMap((pool) =>
      pool.addresses.flatMap(({ suspensions }) => suspensions.map(({ key }) => key)),
    );
    expect(held.sort()).toEqual(burnt.map(({ domain }) => domain).sort());
    expect(await checkEgress(worker as Services)).toMatchObject({ status: 'warning' });
  }

  /** Neither attempts, nor their events, nor what is known of receivers. */
  async function expectNoCanary(): Promise<void> {
    const tables = ['email_events', 'destination_reports', 'destination_rules', 'egress_suspensions', 'audit_log'];
    for (const table of tables) {
      const found = await scene.db.query(`select * from ${table} t where t::text ilike '%${CANARY}%' limit 1`);
      expect([table, found]).toEqual([table, []]);
    }
  }

  it('greylist, and take the mail when it comes again', async () => {
    const reply =
      '450 4.2.0 <r0@grey.example>: Recipient address rejected: Greylisted, see http://postgrey.example/help';
    play('grey.example', '127.2.0.1', { refuses: { phase: 'rcpt', reply }, times: 1 });
    const id = await accept('grey.example');
    const worker = await start();
    await scene.readWhen(id, ({ events }) => events.at(-1)?.event_type === 'deferred', 'a deferral');
    expect(await waitingOf(id)).toMatchObject({ reason: 'retry' });
    await worker.close();
    (scene.clock as FakeClock).advance(120_000);
    await start();
    await scene.readWhenStatus(id, 'delivered');
    expect(await suppressed()).not.toContain('r0@grey.example');
  });

  it('take one connection at a time and refuse the others, and lose no mail by it', async () => {
    const reply = '421 4.7.0 mx.example.com Error: too many connections from 192.0.2.25';
    play('busy.example', '127.2.0.2', { maxConnections: { count: 1, reply } });
    const ids = await Promise.all([0, 1, 2, 3, 4, 5].map((n) => accept('busy.example', n)));
    let worker = await start();
    let told = 0;
    for (let round = 0; round < 8; round += 1) {
      const before = told;
      await waitFor(
        async () => {
          told = (await Promise.all(ids.map((id) => scene.read(id)))).flatMap(({ events }) => events).length;
          return told > before && isAtRest(await scene.queue());
        },
        { what: 'what may begin to have ended' },
      );
      if ((await scene.queue()).waiting === undefined) break;
      await worker.close();
      (scene.clock as FakeClock).advance(20 * 60_000);
      worker = await start();
    }
    for (const id of ids) expect((await scene.read(id)).email.status).toBe('delivered');
    expect(receivers.mails.filter(({ address }) => address === '127.2.0.2')).toHaveLength(6);
    expect((await known(worker, 'busy.example')).lastHour.bounced).toBe(0);
  });

  it('drip their replies byte by byte', async () => {
    play('tarpit.example', '127.2.0.3', { drips: true });
    const id = await accept('tarpit.example');
    await start();
    await scene.readWhenStatus(id, 'delivered');
  });

  it.each(['offer', 'refuse', 'garbage', 'close'] as const)('have TLS that does this: %s', async (startTls) => {
    play(`tls-${startTls}.example`, '127.2.0.4', { startTls });
    const id = await accept(`tls-${startTls}.example`);
    await start();
    const isTold = ({ events }: StoredEmail) =>
      events.some(({ event_type }) => event_type === 'delivered' || event_type === 'deferred');
    const rows = await scene.readWhen(id, isTold, 'an outcome');
    // Opportunistic: a broken one is no reason to give up, nor one without a fault.
    expect(rows.events.at(-1)?.event_type).not.toBe('bounced');
    expect(await suppressed()).not.toContain(`r0@tls-${startTls}.example`);
    if (startTls === 'offer') expect(receivers.mails.at(-1)).toMatchObject({ tls: true });
    if (startTls === 'refuse') expect(receivers.mails.at(-1)).toMatchObject({ tls: false });
  });

  it('are behind a relay that refuses our password, which is noted nowhere', async () => {
    const secret = 'Hunter2-Canary';
    receivers.scripts.set('127.0.0.1', { refuses: { phase: 'mail', reply: '530 5.7.0 Authentication required' } });
    const id = await accept('behind.example');
    const url = `smtp://canary-user:${secret}@127.0.0.1:${receivers.port}`;
    await scene.startWorker({ hopPort: receivers.port, env: { RELAY_URL: url, DRAIN_SECONDS: '1' } });
    await scene.readWhen(id, ({ events }) => events.some((one) => one.event_type === 'deferred'), 'a deferral');
    for (const table of ['email_events', 'destination_reports', 'destination_rules']) {
      expect(await scene.db.query(`select 1 from ${table} t where t::text like '%${secret}%'`)).toEqual([]);
    }
    await expectNoCanary();
  });
});
