import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { NextFunction } from 'express';

/** Turns errors of lower layers (the database driver's) into an `AppError` where it knows them. */
export type ErrorTranslator = (error: unknown) => unknown;

/** Global filter: hands whatever a guard, pipe or handler throws to the error handler of the HTTP server. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  catch(exception: unknown, host: ArgumentsHost): void {
    const next = host.switchToHttp().getNext<NextFunction>();
    next(
      exception instanceof Error ? exception : new Error('A value that is no error was thrown', { cause: exception }),
    );
  }
}
