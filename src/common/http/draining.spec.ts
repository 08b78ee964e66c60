import { Draining } from './draining';

describe('Draining', () => {
  it('waits for what runs, and says when it takes too long', async () => {
    const draining = new Draining();
    expect(await draining.whenIdle(1)).toBe(true);
    draining.enter();
    draining.enter();
    draining.begin();
    expect([draining.active, draining.inFlight]).toEqual([true, 2]);
    expect(await draining.whenIdle(1)).toBe(false);
    const idle = draining.whenIdle(5_000);
    draining.leave();
    draining.leave();
    expect(await idle).toBe(true);
  });
});
