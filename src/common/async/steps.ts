import { WorkTurns } from './fair-turns';

/** Work that can be interrupted wherever it yields. */
export type Steps<T> = Generator<undefined, T>;

/** Does all steps at once. */
export function stepsAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** In each turn of the event loop as many steps as take a millisecond. @param holder with whose other work they take turns */
export async function stepsInTurns<T>(steps: Steps<T>, holder: string): Promise<T> {
  const turns = new WorkTurns(holder);
  for (;;) {
    await turns.next();
    const step = steps.next();
    if (step.done) return step.value;
  }
}
