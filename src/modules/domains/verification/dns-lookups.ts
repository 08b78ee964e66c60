import { SECOND } from '../../../common/clock';
import type { DnsAnswer, DnsResolver, MxRecord } from '../../../common/dns/dns-resolver';

const TOTAL_MS = 10 * SECOND;
/** A zone of many aliases and includes must not turn one check into hundreds of queries. */
const MAXIMUM_QUERIES = 40;

/** The look-ups of one check of one domain, bounded in time and number; whatever goes beyond is `temporary`. Never cached. */
export class DnsLookups {
  private readonly signal: AbortSignal;
  private readonly seen = new Map<string, Set<string>>();
  private queries = 0;

  constructor(
    private readonly resolver: DnsResolver,
    totalMs = TOTAL_MS,
  ) {
    this.signal = AbortSignal.timeout(totalMs);
  }

  async txt(name: string): Promise<DnsAnswer<string>> {
    return this.note(name, await this.bounded(1, () => this.resolver.resolveTxt(name, { signal: this.signal })));
  }

  async cname(name: string): Promise<DnsAnswer<string>> {
    return this.note(name, await this.bounded(1, () => this.resolver.resolveCname(name, { signal: this.signal })));
  }

  /** Texts and aliases that have been found at a name, as they were answered. */
  seenAt(name: string): readonly string[] {
    return [...(this.seen.get(name) ?? [])];
  }

  mx(name: string): Promise<DnsAnswer<MxRecord>> {
    return this.bounded(1, () => this.resolver.resolveMx(name, { signal: this.signal }));
  }

  /** A and AAAA: two queries. */
  addresses(name: string): Promise<DnsAnswer<unknown>> {
    return this.bounded(2, () => this.resolver.resolveAddresses(name, { signal: this.signal }));
  }

  private note(name: string, answer: DnsAnswer<string>): DnsAnswer<string> {
    if (answer.kind === 'found') this.seen.set(name, new Set([...this.seenAt(name), ...answer.records]));
    return answer;
  }

  private async bounded<Item>(count: number, query: () => Promise<DnsAnswer<Item>>): Promise<DnsAnswer<Item>> {
    if (this.signal.aborted) return { kind: 'temporary', reason: 'the check took too long' };
    this.queries += count;
    return this.queries > MAXIMUM_QUERIES ? { kind: 'temporary', reason: 'too many look-ups' } : query();
  }
}
