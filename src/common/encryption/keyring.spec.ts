import { randomBytes } from 'node:crypto';
import { DecryptionError } from './encryption';
import { Keyring } from './keyring';

const [oldMaster, newMaster] = [randomBytes(32), randomBytes(32)];
const before = new Keyring('secrets', { masterKey: oldMaster });
const during = new Keyring('secrets', { masterKey: newMaster, previousMasterKey: oldMaster });
const after = new Keyring('secrets', { masterKey: newMaster });
const plain = Buffer.from('secret');

describe('a ring of keys', () => {
  it('decrypts what either key has encrypted, and encrypts with the new one', () => {
    const [old, renewed] = [before.encrypt(plain, 'c'), during.encrypt(plain, 'c')];
    for (const encrypted of [old, renewed]) expect(during.decrypt(encrypted, 'c')).toEqual(plain);
    expect(after.decrypt(renewed, 'c')).toEqual(plain);
    expect(() => before.decrypt(renewed, 'c')).toThrow('Encrypted with another key');
    expect(() => after.decrypt(old, 'c')).toThrow('Encrypted with another key');
  });

  it('distinguishes what it knows from what has to be encrypted again', () => {
    const [old, renewed] = [before.encrypt(plain, 'c'), during.encrypt(plain, 'c')];
    expect([during.knows(old), during.isCurrent(old)]).toEqual([true, false]);
    expect([during.knows(renewed), during.isCurrent(renewed)]).toEqual([true, true]);
    expect([after.knows(old), after.isCurrent(old)]).toEqual([false, false]);
  });

  it('decrypts for the right context only, and nothing that has been altered or is too short', () => {
    const encrypted = before.encrypt(plain, 'c');
    expect(() => during.decrypt(encrypted, 'd')).toThrow(DecryptionError);
    expect(() => during.decrypt(Buffer.concat([encrypted, Buffer.alloc(1)]), 'c')).toThrow(DecryptionError);
    for (const length of [0, 1, 4, 5, 20]) {
      expect(() => during.decrypt(encrypted.subarray(0, length), 'c')).toThrow(DecryptionError);
      expect(during.knows(encrypted.subarray(0, length))).toBe(length >= 5);
    }
  });

  it('may be given the same key twice', () => {
    const ring = new Keyring('secrets', { masterKey: newMaster, previousMasterKey: newMaster });
    expect(ring.isCurrent(ring.encrypt(plain, 'c'))).toBe(true);
  });
});
