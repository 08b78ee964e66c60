import type { Command } from 'commander';
import { EgressService } from '../delivery/egress/egress.service';
import type { CliSession, Services } from './session/cli-session';
import { type Report, table } from './session/output';

/** `waybill egress …` */
export function addEgressCommands(program: Command, session: CliSession): void {
  program
    .command('egress')
    .description('the addresses that mail leaves from')
    .command('list')
    .description('list the pools of EGRESS_POOLS, with the receivers that refuse an address')
    .action(() => session.run(list));
}

async function list(services: Services): Promise<Report> {
  const pools = await services.get(EgressService).list();
  const rows = pools.flatMap(({ pool, addresses, organizations, category }): Record<string, unknown>[] => {
    const common = { pool, category, organizations: organizations.length };
    if (addresses.length === 0) return [{ ...common, address: '(system)', ehlo: undefined, state: 'active' }];
    return addresses.map(({ address, ehlo, state, suspensions }) => ({
      ...common,
      ...{ address, ehlo, state },
      refusedBy: suspensions.map(({ key }) => key),
    }));
  });
  return { json: pools, text: table(rows) };
}
