import { getEventListeners } from 'node:events';
import { Metrics } from '../../../common/metrics/metrics';
import { UnavailableError } from '../../../common/errors/app-error';
import { clientGone, startRequest } from '../../../common/tenant';
import { RenderThreads } from './render-threads';

const TEMPLATE = {
  organizationId: 'acme',
  key: 'hello 1',
  subject: 'Hello {{ name }}',
  html: undefined,
  text: undefined,
};

describe('the threads that render', () => {
  const threads = new RenderThreads(new Metrics());
  afterAll(() => threads.close());

  it('are started again after one has ended while it had nothing to do', async () => {
    const rendered = { kind: 'rendered', subject: 'Hello Ada' };
    expect(await threads.render(TEMPLATE, '{"name": "Ada"}')).toMatchObject(rendered);
    const [first] = (threads as any).threads;
    await (await first.worker).worker.terminate();
    expect(await threads.render(TEMPLATE, '{"name": "Ada"}')).toMatchObject(rendered);
  });

  it('leave nothing on the signal of a request once its renderings have ended, and warn of no leak while many wait', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning);
    process.on('warning', onWarning);
    let end: () => void = () => undefined;
    const closed = new Promise<void>((resolve) => (end = resolve));
    const left = await new Promise<number>((resolve, reject) => {
      const work = async (): Promise<void> => {
        await Promise.all(Array.from({ length: 12 }, () => threads.render(TEMPLATE, '{"name": "Ada"}')));
        resolve(getEventListeners(clientGone() as AbortSignal, 'abort').length);
      };
      startRequest({ method: 'POST', url: '/v1/templates' }, closed, () => void work().catch(reject));
    });
    end();
    process.off('warning', onWarning);
    expect([left, warnings]).toEqual([0, []]);
  });

  it('refuse what waits, what is in work and what comes later once they are closed', async () => {
    const metrics = new Metrics();
    const closing = new RenderThreads(metrics);
    const asked = ['acme', 'acme', 'globex', 'initech'].map((organizationId) =>
      closing.render({ ...TEMPLATE, organizationId }, '{"name": "Ada"}'),
    );
    const ended = Promise.allSettled(asked);
    await closing.close();
    await expect(closing.render(TEMPLATE, '{}')).rejects.toThrow('stopping');
    for (const result of await ended) {
      expect(result).toEqual({ status: 'rejected', reason: expect.any(UnavailableError) });
      expect((result as PromiseRejectedResult).reason).toMatchObject({ message: 'The service is stopping' });
    }
    expect(await metrics.registry.metrics()).not.toContain('templates_stopped_total');
  });

  it('do not blame the template when no thread can be started', async () => {
    const broken = new RenderThreads(new Metrics());
    jest.spyOn((broken as any).threads[0], 'begin').mockRejectedValue(new Error('no memory'));
    await expect(broken.render(TEMPLATE, '{}')).rejects.toThrow(UnavailableError);
    await broken.close();
  });

  it('let an organization wait with a bounded number of jobs, and always leave room for the next', async () => {
    const threads = new RenderThreads(new Metrics());
    const ask = (organizationId: string) => threads.render({ ...TEMPLATE, organizationId }, '{}');
    const lastOf = async (count: number, organizationId: string) => {
      const asked = Array.from({ length: count }, () => ask(organizationId).catch((error: unknown) => error));
      return Promise.race([asked.at(-1), new Promise((resolve) => setImmediate(resolve, 'waits'))]);
    };
    expect(await lastOf(900, 'acme')).toBe('waits');
    expect(await lastOf(200, 'acme')).toMatchObject({ code: 'rate_limit_exceeded' });
    for (const name of ['b', 'c', 'd', 'e', 'f', 'g']) await lastOf(1_000, name);
    expect(await lastOf(1, 'newcomer')).toBe('waits');
    await threads.close();
  });
});
