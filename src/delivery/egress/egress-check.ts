import { once } from 'node:events';
import { createServer } from 'node:net';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ConfigurationError } from '../../config/load-config';
import { EgressPools } from './egress-pools';

/** Before a worker begins: every address of the pools is one of this machine. */
@Injectable()
export class EgressCheck implements OnModuleInit {
  constructor(private readonly egress: EgressPools) {}

  /** @throws ConfigurationError that names those that cannot be bound */
  async onModuleInit(): Promise<void> {
    const addresses = this.egress.pools.flatMap((pool) => pool.addresses.map(({ address }) => ({ address, pool })));
    const problems = await Promise.all(
      addresses.map(async ({ address, pool }) => {
        const problem = await whyNotBound(address);
        return problem && `EGRESS_POOLS: the address ${address} of pool "${pool.name}" cannot be used: ${problem}`;
      }),
    );
    const found = problems.filter((problem) => problem !== undefined);
    if (found.length > 0) throw new ConfigurationError(found);
  }
}

/** Undefined when it can be. */
async function whyNotBound(address: string): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ host: address, port: 0 });
    await once(server, 'listening');
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? (error as Error).message;
  } finally {
    server.close();
  }
}
