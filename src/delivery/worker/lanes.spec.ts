import { FakeClock } from '../../../test/doubles/fake-clock';
import { Lanes } from './lanes';

const options = { lanes: 100, sharedHop: false, startConcurrency: 2, maximumConcurrency: 4 };

describe('Lanes', () => {
  it('let conversations begin as the destination’s limit allows, in order', async () => {
    const lanes = new Lanes(new FakeClock(), options);
    const order: string[] = [];
    const enter = (name: string) => lanes.acquire('a.example').then((granted) => order.push(`${name} ${granted}`));
    await Promise.all([enter('one'), enter('two')]);
    const third = enter('three');
    const fourth = enter('four');
    expect(order).toEqual(['one true', 'two true']);
    expect(await lanes.acquire('b.example')).toBe(true);
    lanes.release('a.example', 'success');
    await Promise.all([third, fourth]);
    // A success gives its own lane back and raises the limit by one.
    expect(order).toEqual(['one true', 'two true', 'three true', 'four true']);
  });

  it('turn away whoever waits for a destination that is found to be down', async () => {
    const clock = new FakeClock();
    const lanes = new Lanes(clock, options);
    await Promise.all([lanes.acquire('down.example'), lanes.acquire('down.example')]);
    const waiting = lanes.acquire('down.example');
    lanes.release('down.example', 'unreachable', 'refused');
    lanes.release('down.example', 'unreachable', 'refused');
    expect(await waiting).toBe(false);
    expect(await lanes.acquire('down.example')).toBe(false);
    expect(lanes.heldBack()).toEqual({ all: false, destinations: ['down.example'] });
    expect(lanes.describe()).toEqual([
      expect.objectContaining({ destination: 'down.example', state: 'paused', cause: 'refused' }),
    ]);
    clock.advance(20_000);
    expect(await lanes.acquire('down.example')).toBe(true);
  });

  it('hold everything back when the one next hop is down', async () => {
    const lanes = new Lanes(new FakeClock(), { ...options, sharedHop: true, startConcurrency: 1 });
    await lanes.acquire('a.example');
    lanes.release('a.example', 'unreachable');
    expect(lanes.heldBack().all).toBe(true);
    expect(await lanes.acquire('b.example')).toBe(false);
  });
});
