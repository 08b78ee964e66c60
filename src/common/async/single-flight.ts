/** Those who ask for the same key while its answer is on the way share that answer; nothing is kept afterwards. */
export class SingleFlight<T> {
  private readonly underWay = new Map<string, Promise<T>>();

  run(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.underWay.get(key);
    if (known) return known;
    const answer = ask().finally(() => this.underWay.delete(key));
    this.underWay.set(key, answer);
    return answer;
  }
}
