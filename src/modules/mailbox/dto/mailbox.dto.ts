import { Injectable, type PipeTransform } from '@nestjs/common';
import { IsString, MaxLength } from 'class-validator';
import { NotFoundError } from '../../../common/errors/app-error';
import { QueryInteger } from '../../../common/http/dto-decorators';
import type { ListedMessage } from '../mailbox.service';

export class ListMailboxQuery {
  @QueryInteger(1, 1_000) page: number = 1;
  @IsString() @MaxLength(200) q: string = '';
}

/** The place of an attachment, from 0; anything else names nothing. */
@Injectable()
export class AttachmentIndexPipe implements PipeTransform<string, number> {
  transform(value: string): number {
    if (!/^(0|[1-9]\d{0,3})$/.test(value)) throw new NotFoundError('Attachment');
    return Number(value);
  }
}

/** For tools: what the list page shows. */
export function toMessageDto({ id, receivedAt, returnPath, recipients, sender, subject, size }: ListedMessage) {
  return { id, receivedAt: receivedAt.toISOString(), returnPath, recipients, sender, subject, size };
}
