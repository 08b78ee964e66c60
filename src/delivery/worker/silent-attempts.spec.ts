import { SECOND } from '../../common/clock';
import { SilentAttempts } from './silent-attempts';

function setUp() {
  const attempts = new SilentAttempts();
  const cut: string[] = [];
  /** Each ends as soon as it is cut short. */
  const hold = (name: string, silentSeconds: number, isLarge = false) => {
    const holder = {
      claim: { organizationId: name.charAt(0) },
      isLarge,
      conversation: {
        waitingMs: silentSeconds * SECOND,
        silentMs: silentSeconds * SECOND,
        cutShort: () => {
          cut.push(name);
          attempts.remove(holder);
        },
      },
    };
    attempts.add(holder);
    return holder;
  };
  return { attempts, cut, hold };
}

describe('attempts at silent servers', () => {
  it('end for a tenant with less: of the one with the most, the longest silent first', () => {
    const { attempts, cut, hold } = setUp();
    hold('a1', 90);
    for (const [n, seconds] of [40, 60, 50, 29].entries()) hold(`b${n}`, seconds);
    const before = [1, 2, 3, 4, 5].map(() => attempts.makeRoomFor('c', 'all'));
    expect(before).toEqual([true, true, true, true, false]);
    expect(cut).toEqual(['b1', 'b2', 'b0', 'a1']);
  });

  it('stay when the tenant that asks has half as many', () => {
    const { attempts, cut, hold } = setUp();
    for (const name of ['a1', 'a2', 'b1']) hold(name, 90);
    expect(attempts.makeRoomFor('b', 'all')).toBe(false);
    hold('a3', 90);
    expect(attempts.makeRoomFor('b', 'all')).toBe(true);
    expect(cut).toHaveLength(1);
  });

  it('end for large mail only when they are of large mail', () => {
    const { attempts, cut, hold } = setUp();
    for (const name of ['a1', 'a2', 'a3']) hold(name, 90);
    expect(attempts.makeRoomFor('b', 'large')).toBe(false);
    hold('c1', 40, true);
    expect(attempts.makeRoomFor('b', 'large')).toBe(true);
    expect(cut).toEqual(['c1']);
  });

  it('do not end while the server is heard of', () => {
    const { attempts, hold } = setUp();
    const holder = hold('a1', 90);
    attempts.remove(holder);
    hold('a2', 0);
    expect(attempts.makeRoomFor('b', 'all')).toBe(false);
  });
});
