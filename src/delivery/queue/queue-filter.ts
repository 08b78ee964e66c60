import { ValidationError } from '../../common/errors/app-error';
import { parseAddress } from '../../common/mail-address';
import { parseDomain } from '../../common/mail-domain';
import type { QueueActionKind } from './queue.entity';

/** Which deliveries an action is for: those to which all that is given applies. */
export interface QueueFilter {
  readonly organizationId?: string | undefined;
  /** A recipient's domain. */
  readonly destination?: string | undefined;
  readonly emailId?: string | undefined;
  readonly recipient?: string | undefined;
}

export interface NewQueueAction {
  readonly action: QueueActionKind;
  readonly filter: QueueFilter;
  /** The operator's own words. */
  readonly reason: string;
  readonly actor: string;
}

/** As the queue writes them. @throws ValidationError */
export function readFilter({ organizationId, destination, emailId, recipient }: QueueFilter) {
  const wanted = [organizationId, destination, emailId, recipient].filter((value) => value !== undefined);
  if (wanted.length === 0) throw new ValidationError({ filter: ['filter must name at least one thing'] });
  return {
    organizationId: organizationId?.toLowerCase() ?? null,
    destination: destination === undefined ? null : readDestination(destination),
    emailId: emailId?.toLowerCase() ?? null,
    recipient: recipient === undefined ? null : readRecipient(recipient),
  };
}

/** The domain in A-labels. @throws ValidationError */
function readDestination(text: string): string {
  const parsed = parseDomain(text);
  if (!parsed.ok) throw new ValidationError({ 'filter.destination': ['filter.destination must be a domain'] });
  return parsed.domain;
}

/** The envelope address, its domain in A-labels. @throws ValidationError */
function readRecipient(text: string): string {
  const parsed = parseAddress(text);
  if (!parsed.ok) throw new ValidationError({ 'filter.recipient': ['filter.recipient must be an address'] });
  return parsed.email;
}
