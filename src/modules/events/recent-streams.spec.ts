import { MINUTE } from '../../common/clock';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { RecentStreams } from './recent-streams.service';

const tenants = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({ organizationId: String(from + at), mode: 'live' as const }));

describe('RecentStreams', () => {
  it('lists those with events in the last five minutes', () => {
    const clock = new FakeClock();
    const recent = new RecentStreams(clock);
    const listed = () => recent.list().map(({ organizationId, mode }) => organizationId + mode);
    recent.note([...tenants(0, 3), { organizationId: '0', mode: 'test' }]);
    clock.advance(MINUTE);
    recent.note(tenants(1, 1));
    expect(listed()).toEqual(['0live', '2live', '0test', '1live']);
    clock.advance(4 * MINUTE);
    expect(listed()).toEqual(['1live']);
    clock.advance(MINUTE);
    expect(listed()).toEqual([]);
  });

  it('holds a bounded number, the latest', () => {
    const recent = new RecentStreams(new FakeClock());
    recent.note(tenants(0, 4_000));
    recent.note(tenants(4_000, 4_000));
    const listed = recent.list();
    expect([listed.length, listed[0]?.organizationId, listed.at(-1)?.organizationId]).toEqual([5_000, '3000', '7999']);
  });
});
