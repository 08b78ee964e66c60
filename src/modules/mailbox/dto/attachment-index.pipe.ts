import { Injectable, type PipeTransform } from '@nestjs/common';
import { NotFoundError } from '../../../common/errors/app-error';

/** The place of an attachment, from 0; anything else names nothing. */
@Injectable()
export class AttachmentIndexPipe implements PipeTransform<string, number> {
  transform(value: string): number {
    if (!/^(0|[1-9]\d{0,3})$/.test(value)) throw new NotFoundError('Attachment');
    return Number(value);
  }
}
