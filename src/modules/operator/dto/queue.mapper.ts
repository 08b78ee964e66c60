import { ValidationError } from '../../../common/errors/app-error';
import { isUuid } from '../../../common/ids';
import { parseAddress } from '../../../common/mail-address';
import { parseDomain } from '../../../common/mail-domain';
import type { DeliveryCursor, DeliveryFilter, ListedDelivery } from '../../../delivery/queue/delivery-queue.repository';
import type { Waiting } from '../../../delivery/queue/waiting';
import type { QueueActionState, WaitingDelivery } from '../queue.service';
import type { ListDeliveriesQuery, QueueActionDto, OpenDeliveryDto, StartedQueueActionDto } from './queue.dto';

/** @throws ValidationError */
export function toDeliveryFilter({
  organization_id,
  destination,
  state,
  email_id,
  recipient,
}: ListDeliveriesQuery): DeliveryFilter {
  return {
    organizationId: organization_id?.toLowerCase(),
    destination: destination === undefined ? undefined : readDomain(destination),
    state,
    emailId: email_id?.toLowerCase(),
    recipient: recipient === undefined ? undefined : readRecipient(recipient),
  };
}

/** @throws ValidationError */
function readDomain(text: string): string {
  const parsed = parseDomain(text);
  if (!parsed.ok) throw new ValidationError({ destination: [`destination ${parsed.message}`] });
  return parsed.domain;
}

/** @throws ValidationError */
function readRecipient(text: string): string {
  const parsed = parseAddress(text);
  if (!parsed.ok) throw new ValidationError({ recipient: [`recipient ${parsed.message}`] });
  return parsed.email;
}

/** @throws ValidationError */
export function toCursor(text: string | undefined): DeliveryCursor | undefined {
  if (text === undefined) return undefined;
  const [organizationId = '', mode, emailId = '', position = ''] = Buffer.from(text, 'base64url')
    .toString('latin1')
    .split(' ');
  const isWell = isUuid(organizationId) && isUuid(emailId) && /^\d{1,4}$/.test(position);
  if (!isWell || (mode !== 'live' && mode !== 'test')) {
    throw new ValidationError({ cursor: ['cursor must be the nextCursor of an earlier page'] });
  }
  return { organizationId, mode, emailId, position: Number(position) };
}

/** The opaque cursor that `toCursor` reads: the delivery's key as base64url. */
export function cursorOf({ organizationId, mode, emailId, position }: ListedDelivery): string {
  return Buffer.from([organizationId, mode, emailId, position].join(' '), 'latin1').toString('base64url');
}

/** Adds `endsAt`, when the delivery is given up at the latest, to what it waits for. */
export function toOpenDeliveryDto(delivery: WaitingDelivery): OpenDeliveryDto {
  const { emailId, organizationId, mode, recipient, destination, state, attempts, dueAt, waiting } = delivery;
  const facts = { emailId, organizationId, mode, recipient, destination, state, attempts };
  return { ...facts, dueAt: dueAt.toISOString(), waiting: toWaitingDto(waiting), endsAt: waiting.endsAt.toISOString() };
}

function toWaitingDto({ reason, until, detail }: Waiting): OpenDeliveryDto['waiting'] {
  return { reason, detail, ...(until && { until: until.toISOString() }) };
}

export function toStartedDto({ id, action, status }: QueueActionState): StartedQueueActionDto {
  return { id, action, status };
}

/** The filter has only the properties that the action was started with. */
export function toQueueActionDto(state: QueueActionState): QueueActionDto {
  const { reason, actor, matched, changed, claimed, createdAt, completedAt } = state;
  const { organizationId, destination, emailId, recipient } = state;
  return {
    ...toStartedDto(state),
    filter: {
      ...(organizationId !== null && { organizationId }),
      ...(destination !== null && { destination }),
      ...(emailId !== null && { emailId }),
      ...(recipient !== null && { recipient }),
    },
    ...{ reason, actor, matched, changed, claimed },
    createdAt: createdAt.toISOString(),
    ...(completedAt && { completedAt: completedAt.toISOString() }),
  };
}
