import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { atMostBytes } from '../../common/bounded-cache';
import { MicroBatcher } from '../../common/async/micro-batcher';
import { endsWithin, SingleFlight, within } from '../../common/async/promises';
import { type Clock, MINUTE, SECOND } from '../../common/clock';
import type { DnsResolver } from '../../common/dns/dns-resolver';
import {
  announcedId,
  FETCH_SECONDS,
  type FetchedPolicy,
  type FetchFailureType,
  type MtaStsFetcher,
  type MtaStsPolicy,
} from './mta-sts-policy';
import type { TlsRepository, KnownPolicy } from './tls.repository';

/** What holds for a domain now. Neither: it announces no policy. */
export interface MtaStsState {
  readonly policy?: (Pick<MtaStsPolicy, 'mode' | 'mx'> & Partial<MtaStsPolicy>) | undefined;
  /** Why there is no policy, or not the newest, although one is announced. */
  readonly failure?: { readonly type: FetchFailureType; readonly reason: string } | undefined;
}

const NO_POLICY: MtaStsState = {};

const MAX_REMEMBERED = 10_000;
/** Of all of them: a policy has some hundred bytes, and whoever owns the domain can publish 25 KB. */
const MAX_BYTES = 16 * 1024 * 1024;
/** As long as the hosts that it is about (`DirectRouter`). */
const LIFE_MS = 5 * MINUTE;
/** For results that may improve soon: the look-up failed, or another process is fetching. */
const BRIEF_LIFE_MS = 30 * SECOND;
/** Mail waits this long for an unknown policy; until then none applies. */
const LONGEST_WAIT_MS = 10 * SECOND;
/** With what comes before it. */
const LONGEST_LOOK_UP_MS = LONGEST_WAIT_MS + 5 * SECOND;
/** RFC 8461 section 3.3: not again for five minutes. */
const REST_SECONDS = 300;
/** A policy that is valid for less would be fetched over and over. */
const SHORTEST_LIFE_SECONDS = 300;
/** For the fetch, and to write down what came of it. */
const LEASE_SECONDS = FETCH_SECONDS + 30;
/** Domains that are read together. */
const READ_BATCH = 200;
/** How often the service checks whether another process has fetched the policy. */
const LOOK_AGAIN_MS = SECOND;

/**
 * The policies of receiving domains (RFC 8461), fetched by one process at a time, kept in the database until they expire and
 * for minutes in memory. An announced policy that cannot be fetched counts for nothing; one that is kept holds until it
 * expires, also without its announcement: an attacker who can suppress the announcement must not end the policy.
 */
export class MtaStsPolicies {
  private readonly logger = new Logger(MtaStsPolicies.name);
  private readonly remembered: LRUCache<string, MtaStsState>;
  private readonly lookUps = new SingleFlight<MtaStsState>();
  private readonly reads = new MicroBatcher<string, KnownPolicy | undefined>((domains) => this.readAll(domains), {
    maxWeight: READ_BATCH,
    concurrency: 1,
  });

  constructor(
    private readonly rows: TlsRepository,
    private readonly fetcher: MtaStsFetcher,
    private readonly resolver: DnsResolver,
    clock: Clock,
  ) {
    const perf = { now: () => clock.monotonicMs() };
    this.remembered = new LRUCache({
      ...atMostBytes(MAX_REMEMBERED, MAX_BYTES, bytesOf),
      ttl: LIFE_MS,
      ttlResolution: 0,
      perf,
      noDeleteOnStaleGet: true,
    });
  }

  /**
   * Never rejects, and takes fifteen seconds at most.
   * @param domain the recipient's, in A-labels and lower case
   * @param holder whose mail it is: look-ups have shares
   */
  async policyOf(domain: string, holder = ''): Promise<MtaStsState> {
    const known = this.remembered.get(domain) ?? this.remembered.get(`${domain} ${holder}`);
    if (known !== undefined) return known;
    const lookUp = this.lookUps.run(`${domain} ${holder}`, () => this.lookUp(domain, holder));
    return within(lookUp, LONGEST_LOOK_UP_MS).catch((error: unknown) => {
      this.logger.warn({ msg: 'A policy was not found out', domain, error: (error as Error).message });
      const last = this.remembered.peek(domain, { allowStale: true }) ?? NO_POLICY;
      return this.rememberBriefly(domain, holder, last);
    });
  }

  /** The cached policy of a domain, without a look-up. */
  known(domain: string): MtaStsState {
    return this.remembered.peek(domain) ?? NO_POLICY;
  }

  /** Fetches a policy again although it still holds. */
  async refresh(domain: string): Promise<void> {
    const id = announcedId(await this.resolver.resolveTxt(`_mta-sts.${domain}`));
    if (id === undefined || id === 'temporary') {
      const reason = id === 'temporary' ? 'the DNS did not answer' : 'no policy is announced any more';
      return this.rows.notePolicyFailure(domain, { type: 'sts-policy-fetch-error', reason, restSeconds: 0 });
    }
    if (await this.rows.takePolicyFetch(domain, id.id, LEASE_SECONDS)) await this.fetch(domain, id.id, '');
  }

  private async lookUp(domain: string, holder: string): Promise<MtaStsState> {
    const [announced, known] = await Promise.all([
      this.resolver.resolveTxt(`_mta-sts.${domain}`, { holder, signal: AbortSignal.timeout(LONGEST_WAIT_MS) }),
      this.reads.add(domain),
    ]);
    const id = announcedId(announced);
    if (id === 'temporary') return this.rememberBriefly(domain, holder, stateOf(known));
    if (id === undefined || isSettled(known, id.id)) return this.remember(domain, stateOf(known), lifeOf(known));
    const fetched = await this.fetchOnce(domain, id.id, holder);
    if (!isSettled(fetched, id.id)) return this.rememberBriefly(domain, holder, stateOf(fetched ?? known));
    return this.remember(domain, stateOf(fetched), lifeOf(fetched));
  }

  /** By this process or another one; undefined when that takes too long: what is kept holds meanwhile. */
  private async fetchOnce(domain: string, id: string, holder: string): Promise<KnownPolicy | undefined> {
    const isOurs = await this.rows.takePolicyFetch(domain, id, LEASE_SECONDS);
    const fetching = isOurs ? this.fetch(domain, id, holder) : undefined;
    for (let waited = 0; waited < LONGEST_WAIT_MS; waited += LOOK_AGAIN_MS) {
      if (fetching) await endsWithin(fetching, LOOK_AGAIN_MS);
      const now = await this.reads.add(domain);
      if (now !== undefined && !now.isBeingFetched) return now;
      if (!fetching) await delay(LOOK_AGAIN_MS, undefined, { ref: false });
    }
    return undefined;
  }

  private async fetch(domain: string, id: string, holder: string): Promise<void> {
    const fetched: FetchedPolicy = await this.fetcher.fetch(domain, holder);
    if (fetched.kind === 'policy') {
      const { policy } = fetched;
      const lifeSeconds = Math.max(policy.maxAgeSeconds, SHORTEST_LIFE_SECONDS);
      return this.rows.storePolicy(domain, id, policy, lifeSeconds);
    }
    const { type, reason, isBusy } = fetched;
    this.logger.warn({ msg: 'A policy for TLS could not be fetched', domain, type, reason });
    const restSeconds = isBusy === true ? 0 : REST_SECONDS;
    await this.rows.notePolicyFailure(domain, { type, reason, restSeconds });
  }

  private async readAll(domains: readonly string[]): Promise<(KnownPolicy | undefined)[]> {
    const rows = await this.rows.readPolicies([...new Set(domains)]);
    const byDomain = new Map(rows.map((row) => [row.domain, row]));
    return domains.map((domain) => byDomain.get(domain));
  }

  /** That no policy is known may be due to what else the holder has to wait for: others look for themselves. */
  private rememberBriefly(domain: string, holder: string, state: MtaStsState): MtaStsState {
    return this.remember(state.policy ? domain : `${domain} ${holder}`, state, BRIEF_LIFE_MS);
  }

  private remember(name: string, state: MtaStsState, lifeMs: number): MtaStsState {
    this.remembered.set(name, state, { ttl: Math.max(1, lifeMs) });
    return state;
  }
}

/** Whether the announced policy is known, or could not be fetched a short while ago. */
function isSettled(known: KnownPolicy | undefined, id: string): boolean {
  return known?.policyId === id || (known?.triedId === id && known.isResting);
}

function stateOf(known: KnownPolicy | undefined): MtaStsState {
  if (known === undefined) return NO_POLICY;
  const { mode, mx, maxAgeSeconds, failure, failureType } = known;
  return {
    ...(mode !== null && { policy: { mode, mx, ...(maxAgeSeconds !== null && { maxAgeSeconds }) } }),
    ...(failure !== null && { failure: { type: failureType as FetchFailureType, reason: failure } }),
  };
}

function bytesOf({ policy }: MtaStsState): number {
  return (policy?.mx ?? []).reduce((sum, host) => sum + host.length, 0);
}

function lifeOf(known: KnownPolicy | undefined): number {
  return known?.mode ? Math.min(LIFE_MS, known.leftSeconds * SECOND) : LIFE_MS;
}
