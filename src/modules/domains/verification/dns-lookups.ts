import { SECOND } from '../../../common/clock';
import type { DnsAnswer, DnsResolver, MxRecord } from '../../../common/dns/dns-resolver';
import type { WantedRecord } from '../registry/wanted-records';

const TOTAL_MS = 10 * SECOND;
/** A zone of many aliases and includes must not turn one check into hundreds of queries. */
const MAXIMUM_QUERIES = 40;

/** Beside the texts of the same name, which stand for other records. */
const exchangersOf = (name: string): string => `MX ${name}`;

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

  /** What has been found at a name, as it was answered: texts and aliases, or mail exchangers with their preference. */
  seenAt({ host, type }: Pick<WantedRecord, 'host' | 'type'>): readonly string[] {
    return [...(this.seen.get(type === 'MX' ? exchangersOf(host) : host) ?? [])];
  }

  async mx(name: string): Promise<DnsAnswer<MxRecord>> {
    const answer = await this.bounded(1, () => this.resolver.resolveMx(name, { signal: this.signal }));
    // The root names no host: a null MX (RFC 7505).
    const lineOf = ({ preference, exchange }: MxRecord) => `${preference} ${exchange || '.'}`;
    if (answer.kind === 'found') this.see(exchangersOf(name), answer.records.map(lineOf));
    return answer;
  }

  /** A and AAAA: two queries. */
  addresses(name: string): Promise<DnsAnswer<unknown>> {
    return this.bounded(2, () => this.resolver.resolveAddresses(name, { signal: this.signal }));
  }

  private note(name: string, answer: DnsAnswer<string>): DnsAnswer<string> {
    if (answer.kind === 'found') this.see(name, answer.records);
    return answer;
  }

  private see(at: string, records: readonly string[]): void {
    this.seen.set(at, new Set([...(this.seen.get(at) ?? []), ...records]));
  }

  private async bounded<Item>(count: number, query: () => Promise<DnsAnswer<Item>>): Promise<DnsAnswer<Item>> {
    if (this.signal.aborted) return { kind: 'temporary', reason: 'the check took too long' };
    this.queries += count;
    return this.queries > MAXIMUM_QUERIES ? { kind: 'temporary', reason: 'too many look-ups' } : query();
  }
}
