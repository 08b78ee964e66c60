import type { AppConfig } from '../../../config/config';
import type { Clock } from '../../../common/clock';
import { DkimKeyGenerator, type DkimKeyring, type DkimKeyPair, nextSelector } from './dkim-keyring';

describe('DkimKeyGenerator', () => {
  it('makes one key at a time, of each organization in turn', async () => {
    const begun: (() => void)[] = [];
    class SlowGenerator extends DkimKeyGenerator {
      protected override makePair(): Promise<DkimKeyPair> {
        return new Promise((resolve) => begun.push(() => resolve({ privateKey: Buffer.alloc(0), publicKey: '' })));
      }
    }
    const generator = new SlowGenerator({} as DkimKeyring, {} as AppConfig, {} as Clock);
    const done: string[] = [];
    const wanted = ['a', 'a', 'a', 'b', 'c'].map((name) => generator.generate(name).then(() => done.push(name)));
    for (const made of wanted.keys()) {
      // Whatever may begin has begun by the next turn of the event loop.
      await new Promise(setImmediate);
      expect(begun).toHaveLength(made + 1);
      begun[made]?.();
    }
    await Promise.all(wanted);
    expect(done).toEqual(['a', 'b', 'c', 'a', 'a']);
  });
});

describe('nextSelector', () => {
  it.each([
    [[], 'wb1'],
    [['wb1'], 'wb2'],
    [['wb1', 'wb2'], 'wb3'],
    [['wb7'], 'wb8'],
    [['wb9', 'wb10'], 'wb11'],
  ])('counts on from %j where the customer publishes the keys', (taken, next) => {
    expect(nextSelector(taken, false)).toBe(next);
  });

  it.each([
    [[], 'wb1'],
    [['wb1'], 'wb2'],
    [['wb2'], 'wb1'],
    [['wb5'], 'wb1'],
    [['wb1', 'wb2'], undefined],
  ])('takes the free one of the two beside %j in a delegated zone', (taken, next) => {
    expect(nextSelector(taken, true)).toBe(next);
  });
});
