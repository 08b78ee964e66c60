import { within } from './within';

describe('within', () => {
  it('passes on a result and a failure', async () => {
    await expect(within(Promise.resolve(1), 60_000)).resolves.toBe(1);
    await expect(within(Promise.reject(new Error('no')), 60_000)).rejects.toThrow('no');
  });

  it('gives up on what takes too long', async () => {
    await expect(within(new Promise(() => undefined), 1)).rejects.toThrow('timeout after 1 ms');
  });
});
