import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/config';
import { profileOf } from '../ports/provider-profiles';
import type { ClaimedDelivery } from '../ports/delivery';
import { EgressPools, type EgressSource, familyOf } from './egress-pools';
import { WarmUpVolumes } from './warm-up-volumes';

/** Where one mail may leave from now; `source` undefined: the system's choice. */
export type SourceChoice =
  | { readonly kind: 'source'; readonly source: EgressSource | undefined }
  /** The receiver refuses, or does not reach, all that there are. */
  | { readonly kind: 'none' }
  /** They warm up, and have sent what they may send today. */
  | { readonly kind: 'warming'; readonly until: Date };

/** Chooses the address that a mail leaves from: by pool, by what receivers hold against it, by family, by warm-up. */
@Injectable()
export class SourceChooser {
  constructor(
    private readonly pools: EgressPools,
    private readonly volumes: WarmUpVolumes,
    private readonly config: AppConfig,
  ) {}

  /** Families of a receiver's addresses, the one that it takes mail by more readily first. */
  familiesOf(key: string, addresses: readonly string[]): number[] {
    const preferred = profileOf(key)?.prefersFamily ?? (this.config.delivery.preferIpv6 ? 6 : 4);
    const present = new Set(addresses.map(familyOf));
    return [preferred, preferred === 4 ? 6 : 4].filter((family) => present.has(family));
  }

  /** What is chosen counts as sent, until it is refunded. @param key the group of destinations @throws UnavailableError */
  async choose(claim: ClaimedDelivery, key: string, families: readonly number[]): Promise<SourceChoice> {
    if (this.config.delivery.mode === 'local') return { kind: 'source', source: undefined };
    const full = new Set<string>();
    let until: Date | undefined;
    for (;;) {
      const source = this.pools.next(claim, { key, families }, full);
      if (source === 'none') return until ? { kind: 'warming', until } : { kind: 'none' };
      if (source === undefined) return { kind: 'source', source };
      const nextDay = await this.nextDayOf(source, key);
      if (nextDay === undefined) return { kind: 'source', source };
      until = nextDay;
      full.add(source.address);
    }
  }

  /** Undefined when it may leave now. A relay needs no warm-up. */
  private async nextDayOf({ address }: EgressSource, key: string): Promise<Date | undefined> {
    return this.config.delivery.mode === 'direct' ? this.volumes.take(address, providerOf(key)) : undefined;
  }

  /** The mail was not sent. @param chosenAtMs monotonic, not after the choice */
  refund(source: EgressSource | undefined, key: string, chosenAtMs: number): void {
    if (source) this.volumes.refund(source.address, providerOf(key), chosenAtMs);
  }

  /** The receiver refuses the address for its reputation. */
  suspend(source: EgressSource | undefined, key: string, cause: string): void {
    this.pools.suspend(source, key, cause);
  }

  /** True when the receiver as such is to be paused: there is no other address than the one that it refuses. */
  get hasOnlyDefault(): boolean {
    return this.pools.pools.length === 0;
  }
}

/** Of what belongs to one receiver, whatever hosts take it: its profile, else the group of destinations. */
function providerOf(key: string): string {
  return profileOf(key)?.id ?? key;
}
