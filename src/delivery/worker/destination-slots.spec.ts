import { FakeClock } from '../../../test/doubles/fake-clock';
import { DestinationSlots } from './destination-slots';

const options = { slots: 100, sharedHop: false, startConcurrency: 2, maximumConcurrency: 4 };

describe('DestinationSlots', () => {
  it('let conversations begin as the destination’s limit allows, in order', async () => {
    const slots = new DestinationSlots(new FakeClock(), options);
    const order: string[] = [];
    const enter = (name: string) => slots.acquire('a.example').then((granted) => order.push(`${name} ${granted}`));
    await Promise.all([enter('one'), enter('two')]);
    const third = enter('three');
    const fourth = enter('four');
    expect(order).toEqual(['one true', 'two true']);
    expect(await slots.acquire('b.example')).toBe(true);
    slots.release('a.example', 'success');
    await Promise.all([third, fourth]);
    // A success gives its own slot back and raises the limit by one.
    expect(order).toEqual(['one true', 'two true', 'three true', 'four true']);
  });

  it('turn away whoever waits for a destination that is found to be down', async () => {
    const clock = new FakeClock();
    const slots = new DestinationSlots(clock, options);
    await Promise.all([slots.acquire('down.example'), slots.acquire('down.example')]);
    const waiting = slots.acquire('down.example');
    slots.release('down.example', 'unreachable', 'refused');
    slots.release('down.example', 'unreachable', 'refused');
    expect(await waiting).toBe(false);
    expect(await slots.acquire('down.example')).toBe(false);
    expect(slots.heldBack()).toEqual({ all: false, destinations: ['down.example'] });
    expect(slots.describe()).toEqual([
      expect.objectContaining({ destination: 'down.example', state: 'paused', cause: 'refused' }),
    ]);
    clock.advance(20_000);
    expect(await slots.acquire('down.example')).toBe(true);
  });

  it('hold everything back when the one next hop is down', async () => {
    const slots = new DestinationSlots(new FakeClock(), { ...options, sharedHop: true, startConcurrency: 1 });
    await slots.acquire('a.example');
    slots.release('a.example', 'unreachable');
    expect(slots.heldBack().all).toBe(true);
    expect(await slots.acquire('b.example')).toBe(false);
  });
});
