/** Turns of the event loop while work is done: how often others had theirs. */
export async function loopTurnsOf(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

/** How many things happen in one turn of the event loop, at most. */
export class PerTurn {
  most = 0;
  total = 0;
  private now = 0;

  count(): void {
    if (this.now === 0) setImmediate(() => (this.now = 0));
    this.now += 1;
    this.total += 1;
    this.most = Math.max(this.most, this.now);
  }
}
