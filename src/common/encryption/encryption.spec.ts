import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { anyCharacter } from '../../../test/factories/any-character';
import { decrypt, DecryptionError, deriveEncryptionKey, deriveKey, encrypt, keyIdOf, Keyring } from './encryption';

const master = randomBytes(32);
const key = deriveEncryptionKey(master, 'dkim-private-key');

describe('deriveKey', () => {
  const fixed = Buffer.from(Array.from({ length: 32 }, (_, index) => index));

  it('is stable across releases, or every stored secret would be lost', () => {
    expect(deriveKey(fixed, 'return-path').toString('hex')).toBe(
      '24c041461a6a2fb1e242d38f9d4b71f027dbfeadbe58c9aca7f21b4dd24fc4b0',
    );
    expect(deriveEncryptionKey(fixed, 'dkim-private-key').id).toBe(2793648653);
  });

  it('gives independent keys per purpose and per master', () => {
    const purposes = ['return-path', 'return-path2', 'dkim-private-key', ''];
    const keys = [fixed, master].flatMap((from) => purposes.map((purpose) => deriveKey(from, purpose).toString('hex')));
    expect(new Set(keys).size).toBe(keys.length);
  });

  it.each([0, 16, 31, 33, 64])('refuses a master key of %d bytes', (length) => {
    expect(() => deriveKey(Buffer.alloc(length), 'return-path')).toThrow();
  });
});

describe('encrypted boxes', () => {
  it('open to what was encrypted', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.string({ unit: anyCharacter }), (bytes, context) => {
        const plain = Buffer.from(bytes);
        expect(decrypt(encrypt(plain, key, context), key, context)).toEqual(plain);
      }),
    );
  });

  it('differ each time and show nothing of the content', () => {
    const plain = Buffer.from('-----BEGIN PRIVATE KEY-----');
    const boxes = [encrypt(plain, key, 'a'), encrypt(plain, key, 'a')];
    expect(boxes[0]).not.toEqual(boxes[1]);
    expect(boxes[0]?.includes('PRIVATE')).toBe(false);
  });

  it('do not open for another context', () => {
    const encrypted = encrypt(Buffer.from('secret'), key, 'org-1|domain-1|s1');
    for (const context of ['org-2|domain-1|s1', 'org-1|domain-2|s1', 'org-1|domain-1|s2', '', 'org-1|domain-1|s1|']) {
      expect(() => decrypt(encrypted, key, context)).toThrow(DecryptionError);
    }
  });

  it('do not open with another key and name the one they need', () => {
    const encrypted = encrypt(Buffer.from('secret'), key, 'c');
    const other = deriveEncryptionKey(randomBytes(32), 'dkim-private-key');
    expect(keyIdOf(encrypted)).toBe(key.id);
    expect(() => decrypt(encrypted, other, 'c')).toThrow('Encrypted with another key');
    expect(() => decrypt(encrypted, { ...other, id: key.id }, 'c')).toThrow(DecryptionError);
  });

  it('do not open when any bit has changed', () => {
    const encrypted = encrypt(Buffer.from('secret'), key, 'c');
    for (let bit = 0; bit < encrypted.length * 8; bit += 1) {
      const altered = Buffer.from(encrypted);
      altered[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => decrypt(altered, key, 'c')).toThrow(DecryptionError);
    }
  });

  it('do not open when cut or extended', () => {
    const encrypted = encrypt(Buffer.from('secret'), key, 'c');
    for (let length = 0; length < encrypted.length; length += 1) {
      expect(() => decrypt(encrypted.subarray(0, length), key, 'c')).toThrow(DecryptionError);
    }
    expect(() => decrypt(Buffer.concat([encrypted, Buffer.alloc(1)]), key, 'c')).toThrow(DecryptionError);
  });
});

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
