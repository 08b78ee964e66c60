import { PortRouter } from '../../doubles/port-router';
import { SmtpSink } from '../../doubles/smtp-sink';
import type { Tenant } from '../../factories/tenants';
import { createSigningTenant, DeliveryScene } from '../../setup/delivery-scene';
import { waitFor } from '../../setup/wait-for';

/** More than are under way at a time, so that a limit that falls reaches its end. */
const MAILS = 40;

describe('one tenant’s mail that servers fail at, or refuse, hold up no other’s', () => {
  let scene: DeliveryScene;
  let other: Tenant;
  let sink: SmtpSink;

  beforeAll(async () => {
    scene = await DeliveryScene.open();
    other = await createSigningTenant(scene.core, 'other.example');
  });
  beforeEach(async () => void (sink = await SmtpSink.start()));
  afterEach(async () => {
    await scene.clear();
    await sink.stop();
  });
  afterAll(() => scene.close());

  const relay = () => ({ hopPort: sink.port });
  const direct = () => ({ hopPort: 1, router: new PortRouter(() => ({ port: sink.port })) });

  it.each([
    ['a relay that hangs up within the message', relay, 'close-in-data'],
    ['a server that hangs up within the message', direct, 'close-in-data'],
    ['a relay that passes on a limit of one recipient’s server', relay, 'rcpt-451-connections'],
  ])('%s', async (_name, options, behaviour) => {
    await scene.startWorker(options());
    for (let n = 0; n < MAILS; n += 1) await scene.accept({ to: [`${behaviour}+${n}@shared.example`] });
    const tried = () => scene.db.query('select from deliveries where attempt > 0 and state = $1', ['waiting']);
    await waitFor(async () => (await tried()).length >= MAILS / 2, { what: 'attempts at half of them' });
    await scene.accept({ to: ['ada@shared.example'] }, 'live', other);
    await waitFor(() => sink.messages.some(({ recipients }) => recipients[0] === 'ada@shared.example'), {
      what: 'the other tenant’s mail',
      // Less than the pauses of a destination that fails again and again add up to.
      timeoutMs: 30_000,
    });
  });
});
