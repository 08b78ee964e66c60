import { ValidationError } from '../../../common/errors/app-error';
import type { PulledEvents, PullStart } from '../event-pull.service';
import { toPayload } from '../event-payload';
import type { PullEventsQuery } from './event.dto';

/** @throws ValidationError */
export function toStart({ after, from }: PullEventsQuery): PullStart {
  if (after !== undefined && from !== undefined) {
    throw new ValidationError({ from: ['from must not be given with after'] });
  }
  return after?.toLowerCase() ?? from;
}

export function toEventsDto({ events, next, hasMore }: PulledEvents, { limit }: PullEventsQuery) {
  return { data: events.map(toPayload), pagination: { limit, hasMore, nextCursor: next } };
}
