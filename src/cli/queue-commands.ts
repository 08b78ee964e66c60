import { type Command, InvalidArgumentError, Option } from 'commander';
import { setTimeout as delay } from 'node:timers/promises';
import { OPERATOR } from '../audit/audit.service';
import { QUEUE_GROUPS, type QueueGroup } from '../delivery/queue/delivery-queue.repository';
import { QueueActionsService } from '../delivery/queue/queue-actions.service';
import { OutcomeRecorder } from '../modules/emails/outcomes/outcome-recorder.service';
import { OperatorQueueService } from '../modules/operator/queue.service';
import { type CliSession, numberUpTo, parseId, type Services } from './session/cli-session';
import { fields, type Report, table } from './session/output';

interface Filter {
  readonly org?: string;
  readonly destination?: string;
  readonly email?: string;
  readonly recipient?: string;
}

const ACTIONS = {
  retry: { action: 'retry_now', description: 'make deliveries that wait for their next attempt due now' },
  hold: { action: 'hold', description: 'hold deliveries; their time to live continues to run' },
  release: { action: 'release', description: 'put back what is held' },
  fail: { action: 'fail', description: 'end deliveries as failed; this cannot be undone' },
} as const;

const MAX_REASON_LENGTH = 500;
const MAX_LISTED = 500;
const POLL_MS = 200;

/** `waybill queue …` */
export function addQueueCommands(group: Command, session: CliSession): void {
  group
    .command('list')
    .description('count them, largest shares first')
    .addOption(new Option('--by <column>').choices(QUEUE_GROUPS).default('organization'))
    .option('--limit <number>', `1 to ${MAX_LISTED}`, numberUpTo(MAX_LISTED), 100)
    .action(({ by, limit }: { by: QueueGroup; limit: number }) => session.run((services) => list(services, by, limit)));
  for (const [name, { action, description }] of Object.entries(ACTIONS)) {
    group
      .command(name)
      .description(`${description}; at least one of the filters is needed, and all that are given have to apply`)
      .option('--org <id>', 'of an organization', parseId)
      .option('--destination <domain>', 'to a domain of recipients')
      .option('--email <id>', 'of an email', parseId)
      .option('--recipient <address>', 'to an address')
      .requiredOption('--reason <text>', 'kept with the action; senders may read that of a hold', parseReason)
      .action(({ reason, ...filter }: Filter & { reason: string }) =>
        session.run((services) => act(services, action, filter, reason)),
      );
  }
}

async function list(services: Services, by: QueueGroup, limit: number): Promise<Report> {
  const shares = await services.get(OperatorQueueService).countBy(by, limit);
  return { json: shares, text: table(shares.map((share) => ({ ...share }))) };
}

/** Works the action off itself: no worker needs to run. */
async function act(
  services: Services,
  action: (typeof ACTIONS)[keyof typeof ACTIONS]['action'],
  { org, destination, email, recipient }: Filter,
  reason: string,
): Promise<Report> {
  const filter = { organizationId: org, destination, emailId: email, recipient };
  const { id } = await services.get(OperatorQueueService).start({ action, filter, reason, actor: OPERATOR });
  const actions = services.get(QueueActionsService);
  let state = await actions.get(id);
  while (state.status === 'running') {
    await actions.workOff(services.get(OutcomeRecorder), { only: id });
    state = await actions.get(id);
    // A worker may have been quicker, and be at it.
    if (state.status === 'running') await delay(POLL_MS);
  }
  const { status, matched, changed, claimed } = state;
  const shown = { id, action, status, matched, changed, claimed };
  return { json: shown, text: fields(shown) };
}

function parseReason(text: string): string {
  const reason = text.trim();
  if (reason.length >= 1 && reason.length <= MAX_REASON_LENGTH) return reason;
  throw new InvalidArgumentError(`It takes 1 to ${MAX_REASON_LENGTH} characters.`);
}
