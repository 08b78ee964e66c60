import { IsString, MaxLength } from 'class-validator';
import { QueryBoolean, QueryInteger } from '../../../common/http/dto/dto-decorators';
import type { ListedMessage } from '../mailbox.service';

/** Query of the list page: `q` is searched for in sender, recipients and subject; without `live` the page stays as it is. */
export class ListMailboxQuery {
  @QueryInteger(1, 1_000) page: number = 1;
  @IsString() @MaxLength(200) q: string = '';
  @QueryBoolean() live: boolean = true;
}

/** A message in `messages.json`, for tools: the same data as on the list page. */
export function toMessageDto({ id, receivedAt, returnPath, recipients, sender, subject, size }: ListedMessage) {
  return { id, receivedAt: receivedAt.toISOString(), returnPath, recipients, sender, subject, size };
}
