import fc from 'fast-check';
import { OptimisticAccept } from './accept-commit.service';

/** How many batches are looked up before the next optimistic one. */
function lookedUp(optimistic: OptimisticAccept): number {
  for (let batches = 0; ; batches += 1) if (optimistic.shouldTry()) return batches;
}

describe('OptimisticAccept', () => {
  it('is tried until it fails', () => {
    const optimistic = new OptimisticAccept();
    for (let batch = 0; batch < 100; batch += 1) {
      expect(optimistic.shouldTry()).toBe(true);
      optimistic.succeeded();
    }
    optimistic.failed();
    expect(lookedUp(optimistic)).toBe(64);
  });

  it('is tried less and less often while it fails, and more often again once it succeeds', () => {
    const optimistic = new OptimisticAccept();
    const spans = Array.from({ length: 9 }, () => {
      optimistic.failed();
      return lookedUp(optimistic);
    });
    expect(spans).toEqual([64, 128, 256, 512, 1_024, 2_048, 4_096, 4_096, 4_096]);
    for (let right = 0; right < 5; right += 1) optimistic.succeeded();
    optimistic.failed();
    expect(lookedUp(optimistic)).toBe(128);
  });

  it('is never given up for good', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 200 }), (attempts) => {
        const optimistic = new OptimisticAccept();
        for (const ok of attempts) {
          expect(lookedUp(optimistic)).toBeLessThanOrEqual(4_096);
          if (ok) optimistic.succeeded();
          else optimistic.failed();
        }
      }),
      { numRuns: 20 },
    );
  });
});
