import fc from 'fast-check';
import { ByteBudget, type Reservation } from './byte-budget';
import { ComposedMessage } from './composed-message';

const MIB = 1024 * 1024;

describe('ByteBudget', () => {
  it('gives one tenant half of what is for large mail, and leaves the rest to others', () => {
    const budget = new ByteBudget(200 * MIB);
    budget.takeLarge('a', 50 * MIB);
    expect(budget.mayTakeLarge('a', 20 * MIB)).toBe(false);
    expect(budget.mayTakeLarge('b', 60 * MIB)).toBe(true);
    expect(budget.mayTakeLarge('b', 80 * MIB)).toBe(false);
  });

  it('keeps what others free for the message whose turn it is, however many smaller ones follow', () => {
    // 160 MiB for large mail.
    const budget = new ByteBudget((160 * MIB) / 0.6);
    const held = ['b', 'c', 'd'].map((tenant) => budget.takeLarge(tenant, 40 * MIB));
    expect(budget.mayTakeLarge('a', 100 * MIB)).toBe(false);
    expect(budget.reserveNext('a', 100 * MIB)).toBe(true);
    expect(budget.reserveNext('e', 100 * MIB)).toBe(false);
    for (const one of held.slice(0, 2)) {
      expect(budget.mayTakeLarge('a', 100 * MIB)).toBe(false);
      one.free();
      expect(budget.mayTakeLarge('b', 40 * MIB)).toBe(false);
    }
    expect(budget.mayTakeLarge('a', 100 * MIB)).toBe(true);
    // Beside it there is room for little.
    expect(budget.mayTakeLarge('b', 15 * MIB)).toBe(true);
    budget.takeLarge('a', 100 * MIB).free();
    expect(budget.mayTakeLarge('b', 40 * MIB)).toBe(true);
  });

  it('keeps nothing for a tenant that holds some, and for none whose message is gone', () => {
    const budget = new ByteBudget(200 * MIB);
    budget.takeLarge('a', 100 * MIB);
    expect(budget.reserveNext('a', 80 * MIB)).toBe(false);
    expect(budget.reserveNext('b', 100 * MIB)).toBe(true);
    expect(budget.mayTakeLarge('c', 20 * MIB)).toBe(false);
    budget.cancelNext('b');
    expect(budget.mayTakeLarge('c', 20 * MIB)).toBe(true);
  });

  it('lets in one alone that weighs more than everything', () => {
    const budget = new ByteBudget(MIB);
    expect(budget.mayTakeLarge('a', 100 * MIB)).toBe(true);
    const reservation = budget.takeLarge('a', 100 * MIB);
    expect(budget.mayTakeLarge('b', 1)).toBe(false);
    // It turned out to be small.
    reservation.resize(1_000);
    expect(budget.mayTakeLarge('b', 1)).toBe(true);
  });

  it('stays within its limit and keeps its sums', () => {
    const step = fc.record({
      tenant: fc.constantFrom('a', 'b', 'c', 'd'),
      bytes: fc.integer({ min: 1, max: 400 }),
      ends: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const budget = new ByteBudget(1_000);
        const held: Reservation[] = [];
        for (const { tenant, bytes, ends } of steps) {
          if (ends) held.shift()?.free();
          if (bytes < 30 && bytes <= budget.aheadRoom) held.push(budget.takeAhead(bytes));
          else if (budget.mayTakeLarge(tenant, bytes)) held.push(budget.takeLarge(tenant, bytes));
        }
        expect(budget.peak).toBeLessThanOrEqual(budget.limit);
        for (const reservation of held) reservation.free();
        expect(budget.inUse).toBe(0);
        expect(budget.mayTakeLarge('a', 600)).toBe(true);
      }),
    );
  });
});

describe('ComposedMessage', () => {
  function setUp(make: () => Promise<Buffer>, cost = 100) {
    const budget = new ByteBudget(10_000);
    return { budget, message: new ComposedMessage(budget, { organizationId: 'a', cost, make }) };
  }

  it('is made once for all of its users, and let go after the last one', async () => {
    let made = 0;
    const { budget, message } = setUp(() => Promise.resolve(Buffer.alloc((made += 1))));
    const [one, other] = await Promise.all([message.begin(), message.begin()]);
    expect(one).toBe(other);
    expect(made).toBe(1);
    message.end();
    expect(message.isPresent).toBe(true);
    message.end();
    expect(message.isPresent).toBe(false);
    expect(budget.inUse).toBe(0);
    expect(await message.begin()).toHaveLength(2);
  });

  it('takes what composing may need, then what it is', async () => {
    const { budget, message } = setUp(() => Promise.resolve(Buffer.alloc(7)));
    const bytes = message.begin();
    expect(budget.inUse).toBe(100);
    await bytes;
    expect(budget.inUse).toBe(7);
    expect(budget.peak).toBe(100);
  });

  it('gives its room back when it cannot be made', async () => {
    const { budget, message } = setUp(() => Promise.reject(new Error('content gone')));
    await expect(message.begin()).rejects.toThrow('content gone');
    message.end();
    expect(budget.inUse).toBe(0);
    expect(message.mayBegin).toBe(true);
  });
});
