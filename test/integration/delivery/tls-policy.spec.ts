import { attemptsOf } from '../../../src/modules/emails/dto/attempt.dto';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { PolicyRouter } from '../../../src/delivery/tls/policy-router';
import type { MtaStsState } from '../../../src/delivery/tls/mta-sts.service';
import { EmailsService } from '../../../src/modules/emails/emails.service';
import { FakeClock } from '../../doubles/fake-clock';
import { PortRouter } from '../../doubles/port-router';
import { SmtpSink, type SmtpSinkOptions } from '../../doubles/smtp-sink';
import { DeliveryScene } from '../../setup/delivery-scene';

const DIRECT = { DELIVERY_MODE: 'direct', MAIL_HOST: 'mail.waybill.test', ALLOW_PRIVATE_DESTINATIONS: 'true' };

/** The policy of the recipient's domain, and its mail exchangers by preference. */
type MtaSts = MtaStsState & { readonly hosts: readonly string[] };

/** The certificate is for another name. */
const OTHER = 'mx.other.test';

describe('encryption of outgoing mail', () => {
  let scene: DeliveryScene;
  let sink: SmtpSink;

  beforeAll(async () => {
    scene = await DeliveryScene.open(new FakeClock());
  });
  afterEach(async () => {
    await scene.clear();
    await sink.stop();
    await requireTls(false);
  });
  afterAll(() => scene.close());

  const requireTls = (required: boolean) =>
    scene.core.get(DomainsService).requireTls(scene.tenant.organizationId, scene.tenant.domainId, required, 'test');
  const attempts = async (id: string) =>
    attemptsOf(await scene.core.get(EmailsService).events(scene.tenant.as('live'), id));

  /** The outcome of a mail; the worker is new, so it has cached no earlier demand. */
  async function send(options: SmtpSinkOptions, env: Record<string, string> = {}, mtaSts?: MtaSts) {
    sink = await SmtpSink.start(options);
    const id = await scene.accept({ to: ['ada@x.example'] });
    const router = mtaSts && routerOf(mtaSts);
    await scene.startWorker({
      hopPort: sink.port,
      isFinalHop: true,
      env: { ...DIRECT, ...env },
      ...(router && { router }),
    });
    const ended = ['delivered', 'deferred', 'bounced'];
    const { events } = await scene.readWhen(
      id,
      ({ events: all }) => all.some(({ event_type: type }) => ended.includes(type)),
      'the end of the attempt',
    );
    return { event: events.at(-1), attempt: (await attempts(id))[0] };
  }

  function routerOf({ hosts, ...state }: MtaSts): PolicyRouter {
    const named = hosts.map((hostName) => ({ hostName, addresses: ['127.0.0.1'] }));
    const router = new PortRouter(() => ({ port: sink.port, hosts: named }));
    return new PolicyRouter(router, { policyOf: () => Promise.resolve(state) });
  }

  it.each([
    ['TLS_MODE', { TLS_MODE: 'required' }, false],
    ['its domain', {}, true],
  ])('holds a mail back where %s requires encryption and the receiver offers none', async (_who, env, byDomain) => {
    await requireTls(byDomain);
    const { event, attempt } = await send({}, env);
    expect(event).toMatchObject({
      event_type: 'deferred',
      data: { reason: 'policy', policy: 'required', tls: false, response: expect.stringContaining('TLS is required') },
    });
    expect(attempt).toMatchObject({ outcome: 'deferred', reason: 'policy', policy: 'required' });
    expect(sink.commands.join()).not.toMatch(/MAIL/);
  });

  it('delivers over TLS where encryption is required, whatever the certificate', async () => {
    await requireTls(true);
    const { attempt } = await send({ startTls: 'offer' }, {}, { hosts: [OTHER] });
    expect(attempt).toMatchObject({ outcome: 'delivered', tls: { policy: 'required', verified: false } });
  });

  it.each(['close', 'plaintext'] as const)(
    'records that opportunistic TLS failed (%s) and the mail was sent in plaintext',
    async (startTls) => {
      const { event, attempt } = await send({ startTls });
      expect(event).toMatchObject({ event_type: 'delivered', data: { tls: false, tlsFailure: expect.any(String) } });
      expect(attempt).toMatchObject({ outcome: 'delivered', tlsFailure: expect.any(String) });
      expect(attempt).not.toHaveProperty('tls');
      expect(sink.connectionCount).toBe(3);
    },
  );

  describe('to a domain with a policy (MTA-STS)', () => {
    const policyFor = (mode: 'enforce' | 'testing' | 'none', ...mx: string[]) => ({ policy: { mode, mx } });
    it.each<[string, SmtpSinkOptions, string]>([
      ['whose certificate no authority vouches for', { startTls: 'offer' }, 'self-signed'],
      ['that offers no encryption', {}, 'TLS is required'],
      ['whose STARTTLS breaks', { startTls: 'close' }, 'closed'],
      ['whose STARTTLS is answered in plain text', { startTls: 'plaintext' }, 'MTA-STS policy asks for encryption'],
    ])('waits for a host %s, and never goes in the clear', async (_who, options, response) => {
      const { event, attempt } = await send(options, {}, { ...policyFor('enforce', OTHER), hosts: [OTHER] });
      expect(event).toMatchObject({
        event_type: 'deferred',
        data: { reason: 'policy', policy: 'mta-sts', response: expect.stringContaining(response) },
      });
      expect(attempt).toMatchObject({ outcome: 'deferred', reason: 'policy', policy: 'mta-sts' });
      expect(sink.commands.join()).not.toMatch(/MAIL/);
    });

    it('waits where the policy names none of the hosts', async () => {
      const { event } = await send(
        { startTls: 'offer' },
        {},
        { ...policyFor('enforce', 'mx.x.example'), hosts: [OTHER] },
      );
      expect(event).toMatchObject({
        event_type: 'deferred',
        data: { reason: 'policy', policy: 'mta-sts', phase: 'dns', response: expect.stringContaining(OTHER) },
      });
      expect(sink.connectionCount).toBe(0);
    });

    it.each(['testing', 'none'] as const)('goes to any host while the policy is %s', async (mode) => {
      const { attempt } = await send({}, {}, { ...policyFor(mode, 'mx.x.example'), hosts: [OTHER] });
      expect(attempt).toMatchObject({ outcome: 'delivered', route: { mxHost: OTHER } });
    });
  });
});
