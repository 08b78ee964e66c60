import { cpuClock } from './cpu-clock';

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
