import { AppError } from '../common/errors/app-error';

/** The token of `Authorization: Bearer <token>` (RFC 6750); the scheme's case does not matter. */
export function bearerToken(header: string | undefined): string {
  return /^bearer +(\S{1,128})$/i.exec(header ?? '')?.[1] ?? '';
}

export function invalidKey(): AppError {
  return new AppError('invalid_api_key', 'The API key is missing or not valid', {
    suggestion: 'Send the header Authorization: Bearer wb_live_… or wb_test_…',
  });
}
