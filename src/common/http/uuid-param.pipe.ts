import { Injectable, Optional, Param, type PipeTransform } from '@nestjs/common';
import { NotFoundError } from '../errors/app-error';
import { isUuid } from '../ids';

/** A path id that is no UUID names nothing: 404, exactly like an unknown one. Answers it in lower case. */
@Injectable()
export class UuidParamPipe implements PipeTransform<string, string> {
  constructor(@Optional() private readonly what: string = 'Resource') {}

  transform(value: string): string {
    if (!isUuid(value)) throw new NotFoundError(this.what);
    return value.toLowerCase();
  }
}

/** `@UuidParam()`, `@UuidParam('id', 'Email')`: a path id, named in the message when it is none. */
export function UuidParam(name = 'id', what = 'Resource'): ParameterDecorator {
  return Param(name, new UuidParamPipe(what));
}
