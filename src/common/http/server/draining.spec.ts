import { Draining } from './draining';

describe('Draining', () => {
  it('says that it will stop before it refuses anything', () => {
    const draining = new Draining();
    expect([draining.announced, draining.active]).toEqual([false, false]);
    draining.announce();
    expect([draining.announced, draining.active]).toEqual([true, false]);
    draining.begin();
    expect([draining.announced, draining.active]).toEqual([true, true]);
  });

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
