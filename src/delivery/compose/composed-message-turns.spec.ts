import { ComposingTurns } from './composed-message';

function setUp(most: number) {
  const turns = new ComposingTurns(most);
  const begun: string[] = [];
  const running: (() => void)[] = [];
  const add = (tenant: string, name = tenant) =>
    turns.run(tenant, () => {
      begun.push(name);
      return new Promise<string>((resolve) => running.push(() => resolve(name)));
    });
  const endOne = async () => {
    running.shift()?.();
    await new Promise(setImmediate);
  };
  return { turns, begun, add, endOne };
}

describe('ComposingTurns', () => {
  it('begins a single mail of a tenant before what another has in hand', async () => {
    const { begun, add, endOne } = setUp(2);
    for (let n = 0; n < 50; n += 1) void add('noisy', `noisy ${n}`);
    const quiet = add('quiet');
    expect(begun).toEqual(['noisy 0', 'noisy 1']);
    await endOne();
    expect(begun).toEqual(['noisy 0', 'noisy 1', 'quiet']);
    await endOne();
    await endOne();
    expect(await quiet).toBe('quiet');
    expect(begun.slice(3)).toEqual(['noisy 2', 'noisy 3']);
  });

  it('begins a dozen in a turn of the event loop, and goes on in the next one', async () => {
    const { begun, add } = setUp(32);
    for (let n = 0; n < 40; n += 1) void add('noisy');
    expect(begun).toHaveLength(12);
    await new Promise(setImmediate);
    expect(begun).toHaveLength(24);
    await new Promise(setImmediate);
    expect(begun).toHaveLength(32);
  });

  it('does the only mail of a tenant at once when many of others are in progress, one in a turn', async () => {
    const { turns, begun, add } = setUp(8);
    const urgent: string[] = [];
    const addUrgent = (tenant: string) =>
      turns.run(tenant, (isUrgent) => {
        if (isUrgent) urgent.push(tenant);
        return new Promise(() => undefined);
      });
    for (let n = 0; n < 7; n += 1) void add('noisy');
    void addUrgent('early');
    expect(urgent).toEqual([]);
    void add('noisy');
    for (const tenant of ['quiet', 'quiet', 'second', 'noisy']) void addUrgent(tenant);
    expect(urgent).toEqual(['quiet']);
    await new Promise(setImmediate);
    // It and another tenant's have something in progress.
    for (const tenant of ['quiet', 'early', 'third']) void addUrgent(tenant);
    expect(urgent).toEqual(['quiet', 'third']);
    expect(begun).toHaveLength(7);
  });

  it('goes on after a failure, which is its own', async () => {
    const { turns, add, begun } = setUp(1);
    const failed = turns.run('a', () => Promise.reject(new Error('no key')));
    const next = add('a');
    await expect(failed).rejects.toThrow('no key');
    await new Promise(setImmediate);
    expect(begun).toEqual(['a']);
    void next;
  });
});
