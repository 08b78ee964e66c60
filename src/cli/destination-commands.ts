import { type Command, InvalidArgumentError } from 'commander';
import { OPERATOR } from '../audit/audit.service';
import { parseTimestamp } from '../common/http/timestamps';
import type { Destination, DestinationChange } from '../delivery/shaping/destinations.service';
import { OperatorDestinationsService } from '../modules/operator/operator-destinations.service';
import type { CliSession, Services } from './session/cli-session';
import { fields, type Report, table } from './session/output';

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
export function addDestinationCommands(program: Command, session: CliSession): void {
  const group = program.command('destinations').description('groups of receiving domains that share mail exchangers');
  group
    .command('list')
    .description('list those of the last hour, the busiest first')
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
    .description('send nothing there; what waits stays in the queue')
    .argument('<key>')
    .option(...UNTIL)
    .option(...REASON)
    .action((key: string, options: Limits) =>
      session.run((services) => change(services, key, { paused: true, until: options.until, reason: options.reason })),
    );
  group
    .command('resume')
    .description('end a pause, of an operator or of the workers')
    .argument('<key>')
    .option(...REASON)
    .action((key: string, options: Limits) =>
      session.run((services) => change(services, key, { paused: false, reason: options.reason })),
    );
  addLimitCommand(group, session);
}

function addLimitCommand(group: Command, session: CliSession): void {
  group
    .command('limit')
    .description('limit what all workers together do there')
    .argument('<key>')
    .option('--max-connections <n>', 'conversations at a time; none: no limit', parseLimit)
    .option('--rate <n>', 'messages a minute; none: no limit', parseLimit)
    .option(...UNTIL)
    .option(...REASON)
    .action((key: string, { maxConnections, rate, until: end, reason: cause }: Limits) =>
      session.run((services) =>
        change(services, key, { maxConnections, ratePerMinute: rate, until: end, reason: cause }),
      ),
    );
}

async function list(services: Services): Promise<Report> {
  const [found] = await services.get(OperatorDestinationsService).page({}, EVERYTHING);
  const rows = found.map(({ key, state, active, maxConnections, ratePerMinute, cause, until, lastHour }) => ({
    ...{ key, state, active, maxConnections, ratePerMinute, ...lastHour, until, cause },
  }));
  return { json: found, text: table(rows) };
}

async function change(services: Services, key: string, wanted: DestinationChange): Promise<Report> {
  return show(await services.get(OperatorDestinationsService).change(key, wanted, OPERATOR));
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
