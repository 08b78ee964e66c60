import fc from 'fast-check';
import { hashKey, invalidKey, mintKey, modeOfKey } from './key-format';
import { anyCharacter } from '../../../test/factories/any-character';

describe('API keys', () => {
  it("are named by their prefixes when none is valid, operators' ones too", () => {
    for (const prefix of ['wb_live_', 'wb_test_', 'wb_op_']) expect(invalidKey().suggestion).toContain(prefix);
  });

  it('are recognised by their form and checksum', () => {
    for (const mode of ['live', 'test'] as const) {
      const { key, hash, prefix } = mintKey(mode);
      expect(key).toMatch(new RegExp(`^wb_${mode}_[A-Za-z0-9_-]{43}[0-9A-Za-z]{6}$`));
      expect(modeOfKey(key)).toBe(mode);
      expect(hash).toEqual(hashKey(key));
      expect(key.startsWith(prefix)).toBe(true);
      expect(prefix).toHaveLength(12);
    }
  });

  it('never repeat', () => {
    const keys = new Set(Array.from({ length: 2_000 }, () => mintKey('live').key));
    expect(keys.size).toBe(2_000);
  });

  it('with one character changed are refused without a look-up', () => {
    const { key } = mintKey('live');
    fc.assert(
      fc.property(fc.nat({ max: key.length - 1 }), fc.constantFrom(...'abcXYZ019_-'), (at, letter) => {
        const typo = key.slice(0, at) + letter + key.slice(at + 1);
        expect(modeOfKey(typo)).toBe(typo === key ? 'live' : undefined);
      }),
    );
  });

  it('of any other text are refused', () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter, maxLength: 100 }), (text) => modeOfKey(text) === undefined));
  });
});
