import { type Command, InvalidArgumentError, Argument } from 'commander';
import { OPERATOR } from '../audit/audit.service';
import { parseTimestamp } from '../common/http/dto/timestamps';
import { AppConfig, type DeliveryConfig } from '../config/config';
import { nextHopOf } from '../delivery/routing/create-router';
import type { Destination, DestinationChange } from '../delivery/shaping/destinations.service';
import { OperatorDestinationsService, OperatorEgressService } from '../modules/operator/operator-destinations.service';
import type { CliSession, Services } from './session/cli-session';
import { CliError, fields, type Report, table } from './session/output';
import type { ShownPool } from '../delivery/egress/egress.service';

const REASON = ['--reason <text>', 'shown as the cause, to senders too', 'command line'] as const;
const UNTIL = ['--until <timestamp>', 'when it ends by itself', parseFuture] as const;
const EVERYTHING = { skip: 0, take: Infinity };

interface Limits {
  readonly maxConnections?: number | null;
  readonly rate?: number | null;
  readonly until?: Date;
  readonly reason: string;
}

/** `waybill destinations …` */
export function addDestinationCommands(group: Command, session: CliSession): void {
  group
    .command('list')
    .description('list those of the last hour, busiest first')
    .action(() => session.run(list));
  group
    .command('show')
    .description('show one with its rules')
    .argument('<key>')
    .action((key: string) =>
      session.run(async (services) => show(await services.get(OperatorDestinationsService).get(key))),
    );
  group
    .command('pause')
    .description('send it no mail; waiting mail stays in the queue')
    .argument('<key>')
    .option(...UNTIL)
    .option(...REASON)
    .action((key: string, options: Limits) =>
      change(session, key, { paused: true, until: options.until, reason: options.reason }),
    );
  group
    .command('resume')
    .description('end a pause that an operator or the workers have set')
    .argument('<key>')
    .option(...REASON)
    .action((key: string, options: Limits) => change(session, key, { paused: false, reason: options.reason }));
  addLimitCommand(group, session);
}

function addLimitCommand(group: Command, session: CliSession): void {
  group
    .command('limit')
    .description('limit the connections or the rate of all workers together')
    .argument('<key>')
    .option('--max-connections <n>', 'conversations at a time; none: no limit', parseLimit)
    .option('--rate <n>', 'messages a minute; none: no limit', parseLimit)
    .option(...UNTIL)
    .option(...REASON)
    .action((key: string, { maxConnections, rate, until: end, reason: cause }: Limits) => {
      if (maxConnections === undefined && rate === undefined) {
        throw new CliError('invalid_request', 'Nothing to limit: give --max-connections, --rate, or both');
      }
      return change(session, key, { maxConnections, ratePerMinute: rate, until: end, reason: cause });
    });
}

async function list(services: Services): Promise<Report> {
  const [found] = await services.get(OperatorDestinationsService).page({}, EVERYTHING);
  const rows = found.map(({ key, state, active, maxConnections, ratePerMinute, cause, until, lastHour }) => ({
    ...{ key, state, active, maxConnections, ratePerMinute, ...lastHour, until, cause },
  }));
  return { json: found, text: table(rows) };
}

/** A rule may precede the first mail; otherwise the key is mistyped. */
function change(session: CliSession, key: string, wanted: DestinationChange): Promise<void> {
  return session.run(async (services) => {
    const changed = await services.get(OperatorDestinationsService).change(key, wanted, OPERATOR);
    if (changed.mxHosts.length === 0) session.output.note(unused(changed.key, services.get(AppConfig).delivery));
    return show(changed);
  });
}

function unused(key: string, delivery: DeliveryConfig): string {
  const hop = nextHopOf(delivery);
  if (hop === undefined || hop === key) {
    return `no mail has gone to ${key} lately; \`waybill destinations list\` shows the keys in use`;
  }
  return `this has no effect: with DELIVERY_MODE=${delivery.mode} all mail goes to ${hop}, which is the only key`;
}

function show(destination: Destination): Report {
  const { rules, lastHour, ...facts } = destination;
  const listed = rules.map(({ id, source, effect, until, cause }) => ({ id, source, effect, until, cause }));
  return { json: destination, text: `${fields({ ...facts, ...lastHour })}\n\n${table(listed)}` };
}

/** `none` takes a limit away. */
function parseLimit(text: string): number | null {
  if (text === 'none') return null;
  const limit = Number(text);
  if (/^\d{1,6}$/.test(text) && limit >= 1) return limit;
  throw new InvalidArgumentError('It must be a number from 1, or none.');
}

function parseFuture(text: string): Date {
  const time = parseTimestamp(text);
  if (!time) throw new InvalidArgumentError('It must be an ISO 8601 timestamp with an offset, or a date.');
  return time;
}

/** `waybill egress …` */
export function addEgressCommands(group: Command, session: CliSession): void {
  group
    .command('list')
    .description(
      'list the pools of EGRESS_POOLS, with the receivers that refuse an address, and the warm-up of new ones',
    )
    .action(() => session.run(async (services) => showPools(await services.get(OperatorEgressService).list())));
  group
    .command('warm-up')
    .description('skip the warm-up of an address, or restart it at day 1')
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

function showPools(pools: readonly ShownPool[]): Report {
  const rows = pools.flatMap(({ pool, addresses, organizations, category }) =>
    addresses.map(({ address, ehlo, state, suspensions, warmUp }): Record<string, unknown> => ({
      ...{ pool, category, organizations: organizations.length, address, ehlo, state },
      refusedBy: suspensions.map(({ key }) => key),
      warmUp: warmUp && `day ${warmUp.day} of ${warmUp.days}: ${warmUp.dailyVolume} a day`,
    })),
  );
  return { json: pools, text: table(rows) };
}
