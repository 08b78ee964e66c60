import fc from 'fast-check';
import { Caution } from './caution';

/** How many batches are looked up before the next guess. */
function lookedUp(caution: Caution): number {
  for (let batches = 0; ; batches += 1) if (caution.mayGuess()) return batches;
}

describe('Caution', () => {
  it('guesses until it is wrong', () => {
    const caution = new Caution();
    for (let batch = 0; batch < 100; batch += 1) {
      expect(caution.mayGuess()).toBe(true);
      caution.guessedRight();
    }
    caution.guessedWrong();
    expect(lookedUp(caution)).toBe(64);
  });

  it('guesses less and less often while it is wrong, and more often again once it is right', () => {
    const caution = new Caution();
    const spans = Array.from({ length: 9 }, () => {
      caution.guessedWrong();
      return lookedUp(caution);
    });
    expect(spans).toEqual([64, 128, 256, 512, 1_024, 2_048, 4_096, 4_096, 4_096]);
    for (let right = 0; right < 5; right += 1) caution.guessedRight();
    caution.guessedWrong();
    expect(lookedUp(caution)).toBe(128);
  });

  it('never stops guessing for good', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 200 }), (guesses) => {
        const caution = new Caution();
        for (const right of guesses) {
          expect(lookedUp(caution)).toBeLessThanOrEqual(4_096);
          if (right) caution.guessedRight();
          else caution.guessedWrong();
        }
      }),
      { numRuns: 20 },
    );
  });
});
