import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../../common/bounded-cache';
import { Clock, HOUR, SECOND } from '../../../common/clock';
import { MicroBatcher } from '../../../common/async/micro-batcher';
import { SingleFlight, within } from '../../../common/async/promises';
import { UnavailableError } from '../../../common/errors/app-error';
import { DkimKeysRepository, type KnownKey, type PublishedKeyRow } from './dkim-keys.repository';
import { dkimRecordText } from '../registry/wanted-records';

interface Remembered {
  readonly keys: readonly PublishedKeyRow[];
  readonly readAtMs: number;
  askAgainAtMs: number;
}

/** Lifetime of cached keys: a rotation is visible within this time. */
const FRESH_MS = 5 * SECOND;
/** Age up to which cached keys are served while the database is unavailable: retired keys stay published as long. */
const REMEMBERED_MS = 48 * HOUR;
/** How long a response may wait for the database: resolvers query another server, or repeat, after one to five seconds. */
const PATIENCE_MS = SECOND;
/** Domains whose keys are asked for; the database answers some thousand in a second. */
const MAX_WAITING = 2_000;
const MAX_DOMAINS = 10_000;
/** Unknown names have a cache of their own, so that invented names do not evict existing domains. */
const MAX_UNKNOWN = 1_000;
const BATCH = { maxWeight: 100, concurrency: 2 };

/** The longest DNS name. */
const MAX_NAME = 253;
const NAME = /^[a-z0-9_.-]+$/i;

/** The public halves of keys, for the DNS responder and for recognising signatures of this service. */
@Injectable()
export class PublicKeysService {
  private readonly known = new LRUCache<string, Remembered>(atMost(MAX_DOMAINS));
  private readonly unknown = new LRUCache<string, Remembered>({ max: MAX_UNKNOWN });
  private readonly loading = new SingleFlight<Remembered>();
  private readonly batches: MicroBatcher<string, PublishedKeyRow[]>;

  constructor(
    private readonly keys: DkimKeysRepository,
    private readonly clock: Clock,
  ) {
    this.batches = new MicroBatcher((domainIds) => keys.findPublished(domainIds), BATCH);
  }

  /**
   * The key that a signature names and its owner; undefined for other names and for keys no longer kept.
   * @throws UnavailableError
   */
  async findByName(domain: string, selector: string): Promise<KnownKey | undefined> {
    if (![domain, selector].every((name) => name.length <= MAX_NAME && NAME.test(name))) return undefined;
    return this.keys.findByName(domain, selector);
  }

  /**
   * TXT records of a domain's keys by selector; none for an unknown domain.
   * @param domainId a UUID in lower case
   * @throws UnavailableError when the database is unavailable and the domain is not cached
   */
  async publishedBy(domainId: string): Promise<ReadonlyMap<string, string>> {
    const remembered = this.known.get(domainId) ?? this.unknown.get(domainId);
    if (remembered && this.clock.monotonicMs() < remembered.askAgainAtMs) return this.recordsOf(remembered);
    try {
      return this.recordsOf(
        await within(
          this.loading.run(domainId, () => this.load(domainId)),
          PATIENCE_MS,
        ),
      );
    } catch (error) {
      return this.recordsOf(this.fallBackOn(domainId, error));
    }
  }

  private async load(domainId: string): Promise<Remembered> {
    // Names that anyone invents would wait, without end, for a database that is away.
    if (this.batches.depth >= MAX_WAITING) throw new UnavailableError('Too many names wait for the database');
    const keys = await this.batches.add(domainId);
    const readAtMs = this.clock.monotonicMs();
    const remembered = { keys, readAtMs, askAgainAtMs: readAtMs + FRESH_MS };
    this.known.delete(domainId);
    (keys.length > 0 ? this.known : this.unknown).set(domainId, remembered);
    return remembered;
  }

  /** The cached keys while the database is unavailable. A cached "unknown" does not count: the domain may have been added since. */
  private fallBackOn(domainId: string, error: unknown): Remembered {
    const nowMs = this.clock.monotonicMs();
    const remembered = this.known.get(domainId);
    if (!remembered || nowMs - remembered.readAtMs > REMEMBERED_MS) throw error;
    remembered.askAgainAtMs = nowMs + FRESH_MS;
    return remembered;
  }

  private recordsOf({ keys }: Remembered): ReadonlyMap<string, string> {
    const now = this.clock.now();
    const published = keys.filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
    return new Map(published.map(({ selector, publicKey }) => [selector, dkimRecordText(publicKey)]));
  }
}

export type { KnownKey };
