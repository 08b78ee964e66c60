import { Injectable, type PipeTransform } from '@nestjs/common';
import { IsString, MaxLength } from 'class-validator';
import { NotFoundError } from '../../../common/errors/app-error';
import { QueryInteger } from '../../../common/http/dto-decorators';
import type { ListedMessage } from '../mailbox.service';

/** Query of the list page: `q` is searched for in sender, recipients and subject. */
export class ListMailboxQuery {
  @QueryInteger(1, 1_000) page: number = 1;
  @IsString() @MaxLength(200) q: string = '';
}

/** The index of an attachment, from 0. @throws NotFoundError for any other text */
@Injectable()
export class AttachmentIndexPipe implements PipeTransform<string, number> {
  transform(value: string): number {
    if (!/^(0|[1-9]\d{0,3})$/.test(value)) throw new NotFoundError('Attachment');
    return Number(value);
  }
}

/** A message in `messages.json`, for tools: the same data as on the list page. */
export function toMessageDto({ id, receivedAt, returnPath, recipients, sender, subject, size }: ListedMessage) {
  return { id, receivedAt: receivedAt.toISOString(), returnPath, recipients, sender, subject, size };
}
