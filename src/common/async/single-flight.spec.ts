import { SingleFlight } from './single-flight';

describe('SingleFlight', () => {
  it('asks once for all who wait, per key', async () => {
    const flight = new SingleFlight<number>();
    let asked = 0;
    const ask = () => Promise.resolve((asked += 1));
    expect(await Promise.all([flight.run('a', ask), flight.run('a', ask), flight.run('b', ask)])).toEqual([1, 1, 2]);
    expect(await flight.run('a', ask)).toBe(3);
  });

  it('forgets failures', async () => {
    const flight = new SingleFlight<number>();
    const failing = () => Promise.reject(new Error('no'));
    const both = await Promise.allSettled([flight.run('a', failing), flight.run('a', failing)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await flight.run('a', () => Promise.resolve(1))).toBe(1);
  });
});
