import { Param, type PipeTransform } from '@nestjs/common';
import { NotFoundError } from '../errors/app-error';
import { isUuid } from '../ids';

/** A path id that is no UUID names nothing: 404, exactly like an unknown one. Returns it in lower case. */
class UuidPipe implements PipeTransform<string, string> {
  constructor(private readonly what: string) {}

  transform(value: string): string {
    if (!isUuid(value)) throw new NotFoundError(this.what);
    return value.toLowerCase();
  }
}

/** `@PathId()`, `@PathId('id', 'Email')`: a path id, named in the message when it is none. */
export function PathId(name = 'id', what = 'Resource'): ParameterDecorator {
  return Param(name, new UuidPipe(what));
}
