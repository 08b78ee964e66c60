import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { anyDeliveryTarget, DELIVERY_TARGET } from '../../../test/factories/delivery-targets';
import { DAY } from '../../common/clock';
import { ReturnPath } from './return-path';
import type { ReturnPathTarget } from './return-path';

const key = randomBytes(32);
const start = new Date('2027-03-04T05:06:07Z');
const clock = new FakeClock(start);
const returnPath = new ReturnPath(key, clock);
const later = new Date(start.getTime() + 30 * DAY);
const target: ReturnPathTarget = DELIVERY_TARGET;
const anyTarget: fc.Arbitrary<ReturnPathTarget> = anyDeliveryTarget;

describe('ReturnPath', () => {
  beforeEach(() => {
    clock.set(start);
  });

  it('opens what it issued, in either case, within the length of a local part', () => {
    fc.assert(
      fc.property(anyTarget, (any) => {
        const localPart = returnPath.issue(any, later);
        expect(localPart).toMatch(/^b\+[a-z2-7]{55}$/);
        expect(returnPath.open(localPart)).toEqual(any);
        expect(returnPath.open(localPart.toUpperCase())).toEqual(any);
      }),
    );
  });

  it('refuses any other character at any place', () => {
    const localPart = returnPath.issue(target, later);
    for (let index = 0; index < localPart.length; index += 1) {
      for (const other of 'abcdefghijklmnopqrstuvwxyz234567018+-=@. é') {
        const forged = localPart.slice(0, index) + other + localPart.slice(index + 1);
        if (forged !== localPart) expect(returnPath.open(forged)).toBeUndefined();
      }
    }
  });

  it('refuses other lengths, other text and tokens of another key', () => {
    const localPart = returnPath.issue(target, later);
    expect(returnPath.open(localPart.slice(0, -1))).toBeUndefined();
    expect(returnPath.open(`${localPart}a`)).toBeUndefined();
    expect(new ReturnPath(randomBytes(32), clock).open(localPart)).toBeUndefined();
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (text) => returnPath.open(text) === undefined));
  });

  it('holds to the end of its last day, and no longer', () => {
    const localPart = returnPath.issue(target, later);
    clock.set('2027-04-03T23:59:59.999Z');
    expect(returnPath.open(localPart)).toEqual(target);
    clock.set('2027-04-04T00:00:00Z');
    expect(returnPath.open(localPart)).toBeUndefined();
  });

  it('does not issue what would not fit', () => {
    for (const part of [
      { organizationOrdinal: 2 ** 32 },
      { organizationOrdinal: -1 },
      { position: 256 },
      { emailId: 'x' },
    ]) {
      expect(() => returnPath.issue({ ...target, ...part }, later)).toThrow();
    }
    expect(() => new ReturnPath(Buffer.alloc(16), clock)).toThrow();
  });
});
