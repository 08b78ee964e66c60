import { createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { anyDeliveryTarget, DELIVERY_TARGET } from '../../../test/factories/delivery-targets';
import { DAY } from '../../common/clock';
import { NO_EXPIRY, ReturnPath } from './return-path';
import type { ReturnPathTarget } from './return-path';
import { fromBase32, toBase32 } from './token-encoding';
import { anyCharacter } from '../../../test/factories/any-character';

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
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 80 }), (text) => returnPath.open(text) === undefined),
    );
  });

  it('holds to the end of its last day, and no longer', () => {
    const localPart = returnPath.issue(target, later);
    clock.set('2027-04-03T23:59:59.999Z');
    expect(returnPath.open(localPart)).toEqual(target);
    clock.set('2027-04-04T00:00:00Z');
    expect(returnPath.open(localPart)).toBeUndefined();
  });

  it('has the bytes that mail under way has: they can never change', () => {
    const one = { organizationOrdinal: 258, emailId: '01890a5d-ac96-774b-bcce-b302099a8057', position: 3 } as const;
    const head = { live: '11', test: '10' };
    for (const mode of ['live', 'test'] as const) {
      const localPart = returnPath.issue({ ...one, mode }, new Date('2027-03-04T05:06:07Z'));
      const signed = `${head[mode]}0000010201890a5dac96774bbcceb302099a8057035191`;
      const mac = createHmac('sha256', key).update(Buffer.from(signed, 'hex')).digest('hex').slice(0, 20);
      expect(fromBase32(localPart.slice(2))?.toString('hex')).toBe(signed + mac);
    }
  });

  it('refuses another version, even with our signature', () => {
    const token = fromBase32(returnPath.issue(target, later).slice(2)) as Buffer;
    for (const version of [0, 2, 15]) {
      token[0] = (version << 4) | 1;
      createHmac('sha256', key).update(token.subarray(0, 24)).digest().copy(token, 24, 0, 10);
      expect(returnPath.open(`b+${toBase32(token)}`)).toBeUndefined();
    }
  });

  it('is of one kind: an address that unsubscribes is no return path, and holds for ever', () => {
    const unsubscribing = new ReturnPath(key, clock, 'unsubscribe');
    const localPart = unsubscribing.issue(target, NO_EXPIRY);
    expect(localPart).toMatch(/^u\+[a-z2-7]{55}$/);
    expect(returnPath.open(localPart)).toBeUndefined();
    expect(returnPath.open(localPart.replace('u', 'b'))).toEqual(target);
    clock.set('2149-05-31T00:00:00Z');
    expect(unsubscribing.open(localPart)).toEqual(target);
  });

  it.each([
    [{ organizationOrdinal: 2 ** 32 }, '"value" is out of range'],
    [{ organizationOrdinal: -1 }, '"value" is out of range'],
    [{ position: 256 }, '"value" is out of range'],
    [{ emailId: 'x' }, 'The id must be a UUID'],
  ])('does not issue %j', (part, message) => {
    expect(() => returnPath.issue({ ...target, ...part }, later)).toThrow(message);
  });

  it('needs a whole key', () => {
    for (const length of [0, 16, 31, 33]) {
      const make = () => new ReturnPath(Buffer.alloc(length), clock);
      expect(make).toThrow('The return path key must have 32 bytes');
    }
  });
});
