import { Argument, type Command } from 'commander';
import { OPERATOR } from '../audit/audit.service';
import type { ShownPool } from '../delivery/egress/egress.service';
import { OperatorEgressService } from '../modules/operator/operator-destinations.service';
import type { CliSession, Services } from './session/cli-session';
import { type Report, table } from './session/output';

/** `waybill egress …` */
export function addEgressCommands(program: Command, session: CliSession): void {
  const group = program.command('egress').description('the addresses that mail leaves from');
  group
    .command('list')
    .description(
      'list the pools of EGRESS_POOLS, with the receivers that refuse an address, and the warm-up of new ones',
    )
    .action(() => session.run(async (services) => show(await services.get(OperatorEgressService).list())));
  group
    .command('warm-up')
    .description('skip the warm-up of an address, or restart it with day 1')
    .addArgument(new Argument('<change>').choices(['skip', 'restart']))
    .argument('<address>')
    .action((change: 'skip' | 'restart', address: string) =>
      session.run((services) => changeWarmUp(services, change, address)),
    );
  group
    .command('release')
    .description('send from an address again to receivers that have refused it; `default`: the choice of the system')
    .argument('<address>')
    .argument('[destination]', 'one of those receivers; by default all')
    .action((address: string, destination?: string) =>
      session.run(async (services) => {
        const released = await services.get(OperatorEgressService).release(address, destination, OPERATOR);
        return { json: { address, released }, text: `${address} is used again at ${released.join(', ')}` };
      }),
    );
}

async function changeWarmUp(services: Services, change: 'skip' | 'restart', address: string): Promise<Report> {
  const shown = await services.get(OperatorEgressService).changeWarmUp(address, change, OPERATOR);
  const { warmUp } = shown;
  const text = warmUp
    ? `${shown.address} warms up: ${warmUp.dailyVolume} mails to each provider today`
    : `${shown.address} has no daily volume`;
  return { json: shown, text };
}

function show(pools: readonly ShownPool[]): Report {
  const rows = pools.flatMap(({ pool, addresses, organizations, category }) =>
    addresses.map(({ address, ehlo, state, suspensions, warmUp }): Record<string, unknown> => ({
      ...{ pool, category, organizations: organizations.length, address, ehlo, state },
      refusedBy: suspensions.map(({ key }) => key),
      warmUp: warmUp && `day ${warmUp.day} of ${warmUp.days}: ${warmUp.dailyVolume} a day`,
    })),
  );
  return { json: pools, text: table(rows) };
}
