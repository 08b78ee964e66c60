import { now, setClock } from './service-clock';

const OURS = Date.parse('2026-03-29T01:30:00Z');

describe('the clock of the service', () => {
  beforeEach(() => jest.spyOn(Date, 'now').mockReturnValue(OURS));
  afterEach(() => {
    setClock(new Date(OURS).toUTCString());
    jest.restoreAllMocks();
  });

  it.each([-5, 5])('is followed where that of this machine is wrong by %i hours', (hours) => {
    const theirs = OURS + hours * 3_600_000;
    setClock(new Date(theirs).toUTCString());
    expect(now()).toBe(theirs);
  });

  it('is that of this machine where they agree but for the time of a request', () => {
    setClock(new Date(OURS - 30_000).toUTCString());
    expect(now()).toBe(OURS);
  });

  it.each([null, 'soon'])('stays as it was when a response says %p', (date) => {
    setClock(new Date(OURS + 3_600_000).toUTCString());
    setClock(date);
    expect(now()).toBe(OURS + 3_600_000);
  });
});
