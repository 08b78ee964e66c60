import { SECOND } from '../../../src/common/clock';
import { PARALLEL_AT_HOST } from '../../../src/modules/webhooks/dispatch/host-slots';
import { WebhookDispatcher } from '../../../src/modules/webhooks/dispatch/webhook-dispatcher.service';
import { WebhookReceiver } from '../../doubles/webhook-receiver';
import { waitFor } from '../../setup/wait-for';
import { DispatchScene } from './dispatch-scene';

/** Far beyond the end of the test: what hangs is ended by the test. */
const HANGING = { totalTimeoutMs: 3_600_000, connectTimeoutMs: 3_600_000 };
const BRIEF = { totalTimeoutMs: 1_000, connectTimeoutMs: 60_000 };

describe('a receiver that is slow', () => {
  it('is given up, tried one at a time from then on', async () => {
    const scene = await DispatchScene.open(BRIEF);
    const receiver = await WebhookReceiver.start('hang');
    const { id } = await scene.addEndpoint({ url: receiver.url() });
    for (let count = 0; count < 5; count += 1) await scene.accept();
    await scene.expand(5);
    expect(await scene.send()).toBe(2);
    expect(await scene.send()).toBe(0);
    scene.clock.advance(2 * SECOND);
    expect(await scene.send()).toBe(1);
    expect((await scene.endpoint(id)).failing_since).not.toBeNull();
    const tried = (await scene.messages()).filter(({ attempts }) => attempts > 0);
    expect(new Set(tried.map(({ last_error }) => last_error))).toEqual(
      new Set(['no complete answer within the time limit']),
    );
    await receiver.stop();
    await scene.close();
  });

  it('does not delay others, even a hundred of them, which have 25 requests together', async () => {
    const scene = await DispatchScene.open(HANGING);
    const [slow, fast] = await Promise.all([
      WebhookReceiver.start('hang'),
      WebhookReceiver.start({ status: 200 }, { host: '127.0.0.2' }),
    ]);
    for (let count = 0; count < 100; count += 1) await scene.addEndpoint({ url: slow.url(`/${count}`) });
    const { id } = await scene.addEndpoint({ url: fast.url() });
    for (let count = 0; count < 12; count += 1) await scene.accept();
    await scene.expand(12 * 101);
    const dispatcher = scene.core.get(WebhookDispatcher);
    const hasAll = async () => {
      await dispatcher.round();
      return fast.received.length === 12;
    };
    await waitFor(hasAll, { what: 'the fast receiver to have got everything' });
    await waitFor(() => slow.received.length >= PARALLEL_AT_HOST, { what: 'the slow ones to be tried' });
    expect(slow.mostOpen).toBe(PARALLEL_AT_HOST);
    const ofFast = async () => (await scene.messages()).filter(({ endpoint_id }) => endpoint_id === id);
    const isSettled = async () => (await ofFast()).every(({ state }) => state === 'delivered');
    await waitFor(isSettled, { what: 'its responses to be noted' });
    expect(await ofFast()).toHaveLength(12);
    dispatcher.stop('now');
    await dispatcher.ended();
    const messages = await scene.messages();
    // What was ended from this side counts for nothing.
    const others = messages.filter(({ endpoint_id }) => endpoint_id !== id);
    expect(others.every(({ state, attempts }) => state === 'pending' && attempts === 0)).toBe(true);
    await Promise.all([slow.stop(), fast.stop()]);
    await scene.close();
  });
});
