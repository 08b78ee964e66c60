import { CommanderError } from 'commander';
import { AppError, type ErrorCode } from '../../common/errors/app-error';
import { ConfigurationError } from '../../config/load-config';

/** The API's codes, and those of situations that only an operator meets. */
export type CliErrorCode = ErrorCode | 'invalid_configuration' | 'unhealthy';

/** What an operator sees of an error. */
export interface ErrorReport {
  readonly code: CliErrorCode;
  readonly message: string;
  readonly details?: Record<string, unknown>;
}

/** An exceptional result of a command itself. */
export class CliError extends Error {
  constructor(
    readonly code: CliErrorCode,
    message: string,
    readonly details?: Record<string, unknown>,
  ) {
    super(message);
    this.name = 'CliError';
  }
}

/** Unlike over HTTP, an unforeseen error shows its message: the operator may read the logs as well. */
export function toErrorReport(error: unknown): ErrorReport {
  if (error instanceof AppError || error instanceof CliError) {
    const { code, message, details } = error;
    return { code, message, ...(details && { details }) };
  }
  if (error instanceof CommanderError) {
    return { code: 'invalid_request', message: oneLine(error.message.replace(/^error: /, '')) };
  }
  const message = error instanceof Error ? error.message || error.name : String(error);
  return {
    code: error instanceof ConfigurationError ? 'invalid_configuration' : 'internal_error',
    message: oneLine(message),
  };
}

/** The report as one line; failed validation says which field and why. */
export function describeReport({ message, details }: ErrorReport): string {
  const validation = Object.values((details?.validation ?? {}) as Record<string, string[]>).flat();
  return oneLine(validation.length > 0 ? `${message}: ${validation.join('; ')}` : message);
}

/** Several lines (a list of problems, a suggestion of the parser) as one. */
function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*(- )?/g, ' ');
}
