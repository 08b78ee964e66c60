import { Deadline } from './smtp-timeouts';

describe('Deadline', () => {
  let deadline: Deadline;
  let expired: string[];
  const note = (name: string) => (): void => void expired.push(name);

  beforeEach(() => {
    jest.useFakeTimers();
    deadline = new Deadline();
    expired = [];
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  it('expires once, at its time', () => {
    deadline.set(10, note('a'));
    jest.advanceTimersByTime(9_999);
    expect(expired).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(expired).toEqual(['a']);
    jest.advanceTimersByTime(60_000);
    expect(expired).toEqual(['a']);
  });

  it('moves later without a new timer', () => {
    deadline.set(10, note('a'));
    jest.advanceTimersByTime(5_000);
    deadline.set(60, note('b'));
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(59_999);
    expect(expired).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(expired).toEqual(['b']);
  });

  it('moves earlier', () => {
    deadline.set(60, note('a'));
    deadline.set(5, note('b'));
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(5_000);
    expect(expired).toEqual(['b']);
  });

  it('does not expire once cleared, and can be set again', () => {
    deadline.set(10, note('a'));
    deadline.clear();
    jest.advanceTimersByTime(20_000);
    expect(expired).toEqual([]);
    deadline.set(10, note('b'));
    jest.advanceTimersByTime(10_000);
    expect(expired).toEqual(['b']);
  });

  it('is capped by the attempt, which begins once', () => {
    deadline.beginAttempt(30);
    jest.advanceTimersByTime(20_000);
    deadline.beginAttempt(30);
    deadline.set(600, note('a'));
    jest.advanceTimersByTime(10_000);
    expect(expired).toEqual(['a']);
  });

  it('is free of the attempt once that has ended', () => {
    deadline.beginAttempt(30);
    deadline.endAttempt();
    deadline.set(600, note('a'));
    jest.advanceTimersByTime(599_999);
    expect(expired).toEqual([]);
  });

  it('leaves no timer behind when disposed of', () => {
    deadline.set(10, note('a'));
    deadline.dispose();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('does not keep the process alive', () => {
    jest.useRealTimers();
    const timers = jest.spyOn(globalThis, 'setTimeout');
    deadline.set(10, note('a'));
    const timer = timers.mock.results[0]?.value as NodeJS.Timeout;
    expect(timer.hasRef()).toBe(false);
    deadline.dispose();
    timers.mockRestore();
  });

  it('keeps few timers over many messages', () => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    for (let message = 0; message < 1_000; message += 1) {
      for (const seconds of [60, 60, 120, 600, 15]) deadline.set(seconds, note('never'));
      jest.advanceTimersByTime(10);
    }
    // 10 s of traffic: one timer of 60 s, then one of 15 s.
    expect(timers.mock.calls.length).toBeLessThan(10);
    expect(expired).toEqual([]);
    timers.mockRestore();
  });
});
