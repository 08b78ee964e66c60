import fc from 'fast-check';
import { newId } from '../../common/ids';
import { CALL_TO_ALL, formatCall, isCallFor, parseCall } from './work-call';

describe('a call for workers', () => {
  it('is read as it was written', () => {
    const ids = fc.uniqueArray(fc.constantFrom(...Array.from({ length: 100 }, newId)), {
      minLength: 1,
      maxLength: 100,
    });
    const property = (names: string[], count: number, random: number) => {
      const payload = formatCall({ count, organizationIds: new Set(names) }, random);
      expect(payload.length).toBeLessThan(8_000);
      expect(parseCall(payload)).toEqual({ count, turn: expect.any(Number), organizationIds: new Set(names) });
    };
    fc.assert(fc.property(ids, fc.nat(1_000_000), fc.double({ min: 0, max: 0.999, noNaN: true }), property));
  });

  it('names no organization where there are too many', () => {
    const organizationIds = new Set(Array.from({ length: 101 }, newId));
    expect(parseCall(formatCall({ count: 5, organizationIds }, 0)).organizationIds).toBeUndefined();
    expect(parseCall(formatCall(CALL_TO_ALL, 0.5))).toEqual({ ...CALL_TO_ALL, turn: 500_000 });
  });

  it('is for anyone where it names what is no id', () => {
    expect(parseCall('1 2 <script>')).toEqual({ count: 1, turn: 2, organizationIds: undefined });
  });

  it.each([undefined, '', 'x', '1 2', '1  2', '-1 2 *'])('is for all where it says %j', (payload) => {
    expect(parseCall(payload)).toEqual(CALL_TO_ALL);
  });

  it('reaches as many workers as there is work, none twice, wherever it begins', () => {
    const property = (workers: number, count: number, turn: number) => {
      const call = { count, turn, organizationIds: undefined };
      const meant = Array.from({ length: workers }, (_, rank) => isCallFor({ workers, rank }, call, 50));
      expect(meant.filter(Boolean)).toHaveLength(Math.min(workers, Math.ceil(count / 50)));
    };
    fc.assert(fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 5_000 }), fc.nat(), property));
  });
});
