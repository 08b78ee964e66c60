import { Metrics } from '../../../common/metrics/metrics';
import { UnavailableError } from '../../../common/errors/app-error';
import { cpuClock, RenderThreads } from './render-threads';

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
});

describe('cpuClock', () => {
  it('reads what a thread has worked, and keeps it once the thread is gone', () => {
    const texts = ['1000000 5 6\n', '4500000 5 7\n'];
    const clock = cpuClock(() => {
      const text = texts.shift();
      if (text === undefined) throw new Error('ENOENT');
      return text;
    }, '/proc/self/task/7/schedstat');
    expect([clock(), clock(), clock()]).toEqual([4.5, 4.5, 4.5]);
  });

  it.each([
    [
      'it cannot be read',
      () => {
        throw new Error('EACCES');
      },
    ],
    ['it says something else', () => 'no numbers\n'],
  ])('counts the whole process when %s', (_what, read) => {
    const before = process.cpuUsage();
    const worked = cpuClock(read, '/proc/self/task/7/schedstat')();
    expect(worked).toBeGreaterThanOrEqual((before.user + before.system) / 1_000);
  });
});
