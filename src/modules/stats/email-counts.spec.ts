import fc from 'fast-check';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { DAY, HOUR, MINUTE } from '../../common/clock';
import { EmailCounts } from './email-counts';
import type { CountedHour, CountRange } from './stats.repository';

const NOW = new Date('2026-11-22T12:00:00Z');
const TENANT = { organizationId: 'o', mode: 'live', domainId: undefined } as const;

/** The counts by hours ago, as the database would give them. */
class Hours {
  statements = 0;
  constructor(readonly byAge: Map<number, number>) {}

  countEmails(range: CountRange): Promise<number> {
    this.statements += 1;
    return Promise.resolve(this.within(range).reduce((sum, { emails }) => sum + emails, 0));
  }

  locateEmails(range: CountRange, { offset, limit }: { offset: number; limit: number }): Promise<CountedHour[]> {
    this.statements += 1;
    let newer = 0;
    const counted = this.within(range).map(({ hour, emails }) => ({ hour, emails, newer: (newer += emails) - emails }));
    return Promise.resolve(counted.filter((one) => one.newer + one.emails > offset && one.newer < offset + limit));
  }

  private within({ from, to }: CountRange): { hour: Date; emails: number }[] {
    return [...this.byAge]
      .sort(([one], [other]) => one - other)
      .map(([age, emails]) => ({ hour: new Date(NOW.getTime() - age * HOUR), emails }))
      .filter(({ hour }) => (!from || hour >= from) && (!to || hour < to));
  }
}

function setUp(byAge: Map<number, number>) {
  const clock = new FakeClock(NOW);
  const hours = new Hours(byAge);
  return { clock, hours, counts: new EmailCounts(hours, clock) };
}

const age = fc.oneof(fc.integer({ min: 0, max: 80 }), fc.integer({ min: 0, max: 9_000 }));
const bound = fc.option(
  age.map((hours) => new Date(NOW.getTime() - hours * HOUR)),
  { nil: undefined },
);

describe('EmailCounts', () => {
  it('gives what the hours give, for any history, range and page', async () => {
    const history = fc.array(fc.tuple(age, fc.integer({ min: 1, max: 50 })), { maxLength: 60 });
    const page = fc.record({ offset: fc.nat(1_500), limit: fc.integer({ min: 1, max: 100 }) });
    await fc.assert(
      fc.asyncProperty(history, bound, bound, page, async (list, from, to, wanted) => {
        const { hours, counts } = setUp(new Map(list));
        const range = { ...TENANT, from, to };
        expect(await counts.count(range)).toBe(await hours.countEmails(range));
        expect(await counts.locate(range, wanted)).toEqual(await hours.locateEmails(range, wanted));
      }),
    );
  });

  it('remembers the sum of old hours for a minute, but not of the month, and not after a removal', async () => {
    const { clock, hours, counts } = setUp(
      new Map([
        [1, 2],
        [2_000, 5],
      ]),
    );
    expect(await counts.count(TENANT)).toBe(7);
    hours.byAge.set(2, 10).set(2_001, 100);
    expect(await counts.count(TENANT)).toBe(17);
    counts.clearCache();
    expect(await counts.count(TENANT)).toBe(117);
    hours.byAge.delete(2_001);
    clock.advance(MINUTE);
    expect(await counts.count(TENANT)).toBe(17);
  });

  it('does not remember a failure', async () => {
    const { hours, counts } = setUp(new Map([[2_000, 5]]));
    jest.spyOn(hours, 'countEmails').mockRejectedValueOnce(new Error('away'));
    await expect(counts.count(TENANT)).rejects.toThrow('away');
    expect(await counts.count(TENANT)).toBe(5);
  });

  it('looks for the first page among the newest hours only', async () => {
    const { hours, counts } = setUp(
      new Map([
        [1, 100],
        [(40 * DAY) / HOUR, 100],
      ]),
    );
    await counts.locate(TENANT, { offset: 0, limit: 20 });
    expect(hours.statements).toBe(1);
  });
});
