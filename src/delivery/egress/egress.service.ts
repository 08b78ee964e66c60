import { Injectable } from '@nestjs/common';
import { DestinationsRepository, type HeldSuspension } from '../shaping/destinations.repository';
import { DEFAULT_POOL, EgressPools } from './egress-pools';

/** A pool as operators see it. */
export interface ShownPool {
  readonly pool: string;
  readonly addresses: readonly ShownAddress[];
  readonly organizations: readonly string[];
  readonly category?: string;
}

export interface ShownAddress {
  readonly address: string;
  readonly ehlo: string;
  /** `suspended`: at least one receiver refuses it. */
  readonly state: 'active' | 'suspended';
  readonly suspensions: readonly Pick<HeldSuspension, 'key' | 'cause' | 'until'>[];
}

/** The addresses that mail leaves from, with what receivers hold against them. */
@Injectable()
export class EgressService {
  constructor(
    private readonly egress: EgressPools,
    private readonly destinations: DestinationsRepository,
  ) {}

  /** In the order of the file; the system's choice, which has no addresses of its own here, is the last. */
  async list(): Promise<ShownPool[]> {
    const held = await this.destinations.listSuspensions();
    const pools = this.egress.pools.map(({ name, addresses, organizations, category }) => ({
      pool: name,
      addresses: addresses.map(({ address, ehlo }): ShownAddress => {
        const own = held.filter((one) => one.address === address);
        const suspensions = own.map(({ key, cause, until }) => ({ key, cause, until }));
        return { address, ehlo, state: own.length > 0 ? 'suspended' : 'active', suspensions };
      }),
      organizations,
      ...(category !== undefined && { category }),
    }));
    return [...pools, { pool: DEFAULT_POOL, addresses: [], organizations: [] }];
  }
}
