import { MINUTE } from '../../common/clock';
import { RecentEndpoints } from './recent-endpoints';

const keys = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({
    organizationId: 'one',
    mode: 'live' as const,
    endpointId: String(from + at),
  }));

describe('RecentEndpoints', () => {
  it('lists those with events in the last five minutes, in pages', () => {
    const recent = new RecentEndpoints();
    recent.note(keys(0, 3), 0);
    recent.note(keys(1, 1), MINUTE);
    const listed = (nowMs: number) => recent.pages(nowMs, 2).map((page) => page.map(({ endpointId }) => endpointId));
    expect(listed(MINUTE)).toEqual([['0', '2'], ['1']]);
    expect(listed(5 * MINUTE)).toEqual([['1']]);
    expect(listed(6 * MINUTE)).toEqual([]);
  });

  it('holds a bounded number, the latest', () => {
    const recent = new RecentEndpoints();
    recent.note(keys(0, 4_000), 0);
    recent.note(keys(4_000, 4_000), 1);
    const listed = recent.pages(1, 10_000).flat();
    expect([listed.length, listed[0]?.endpointId, listed.at(-1)?.endpointId]).toEqual([5_000, '3000', '7999']);
  });
});
