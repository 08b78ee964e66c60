import { Metrics } from '../../../common/metrics/metrics';
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
});
