import { randomBytes } from 'node:crypto';
import { SealedBoxError } from './sealed-box';
import { SealingRing } from './sealing-ring';

const [oldMaster, newMaster] = [randomBytes(32), randomBytes(32)];
const before = new SealingRing('secrets', oldMaster);
const during = new SealingRing('secrets', newMaster, oldMaster);
const after = new SealingRing('secrets', newMaster);
const plain = Buffer.from('secret');

describe('a ring of keys', () => {
  it('opens what either key has sealed, and seals with the new one', () => {
    const [old, renewed] = [before.seal(plain, 'c'), during.seal(plain, 'c')];
    for (const sealed of [old, renewed]) expect(during.open(sealed, 'c')).toEqual(plain);
    expect(after.open(renewed, 'c')).toEqual(plain);
    expect(() => before.open(renewed, 'c')).toThrow('Sealed with another key');
    expect(() => after.open(old, 'c')).toThrow('Sealed with another key');
  });

  it('tells what it can open from what has to be sealed again', () => {
    const [old, renewed] = [before.seal(plain, 'c'), during.seal(plain, 'c')];
    expect([during.knows(old), during.isCurrent(old)]).toEqual([true, false]);
    expect([during.knows(renewed), during.isCurrent(renewed)]).toEqual([true, true]);
    expect([after.knows(old), after.isCurrent(old)]).toEqual([false, false]);
  });

  it('opens for the right context only, and nothing that has been altered or is no box', () => {
    const sealed = before.seal(plain, 'c');
    expect(() => during.open(sealed, 'd')).toThrow(SealedBoxError);
    expect(() => during.open(Buffer.concat([sealed, Buffer.alloc(1)]), 'c')).toThrow(SealedBoxError);
    for (const length of [0, 1, 4, 5, 20]) {
      expect(() => during.open(sealed.subarray(0, length), 'c')).toThrow(SealedBoxError);
      expect(during.knows(sealed.subarray(0, length))).toBe(length >= 5);
    }
  });

  it('may be given the same key twice', () => {
    const ring = new SealingRing('secrets', newMaster, newMaster);
    expect(ring.isCurrent(ring.seal(plain, 'c'))).toBe(true);
  });
});
