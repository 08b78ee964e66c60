import { OrganizationRing } from './organization-ring';

/** What is open, by organization; a look takes one item of each of the next two. */
class Backlog {
  readonly served: string[] = [];

  constructor(readonly open: Record<string, number>) {}

  readonly read = (after: string) => {
    const next = Object.keys(this.open).sort().filter((id) => id > after && (this.open[id] ?? 0) > 0).slice(0, 2); // prettier-ignore
    for (const id of next) this.open[id] = (this.open[id] ?? 0) - 1;
    this.served.push(...next);
    return Promise.resolve(next.map((organizationId) => ({ organizationId })).reverse());
  };
}

describe('OrganizationRing', () => {
  it('goes round, whatever the length of a backlog', async () => {
    const backlog = new Backlog({ a: 9, b: 1, c: 2, d: 1 });
    const ring = new OrganizationRing();
    while ((await ring.next(backlog.read)).length > 0);
    expect(backlog.served.slice(0, 6)).toEqual(['a', 'b', 'c', 'd', 'a', 'c']);
    expect(Object.values(backlog.open)).toEqual([0, 0, 0, 0]);
  });

  it('returns the turns in their order, and nothing when there is nothing', async () => {
    const ring = new OrganizationRing();
    expect(await ring.next(new Backlog({ a: 1, b: 1 }).read)).toEqual([{ organizationId: 'a' }, { organizationId: 'b' }]); // prettier-ignore
    expect(await ring.next(new Backlog({}).read)).toEqual([]);
  });

  it('comes to one that is new behind the place where it stands first', async () => {
    const backlog = new Backlog({ a: 5, b: 5, c: 5, d: 5 });
    const ring = new OrganizationRing();
    await ring.next(backlog.read);
    backlog.open.bb = 1;
    expect((await ring.next(backlog.read))[0]).toEqual({ organizationId: 'bb' });
  });
});
