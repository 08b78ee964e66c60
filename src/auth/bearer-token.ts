import type { FastifyRequest } from 'fastify';
import { AppError } from '../common/errors/app-error';
import { modeOfKey } from './key-format';

/** The token of `Authorization: Bearer <token>` (RFC 6750); the scheme's case does not matter. */
export function bearerToken(header: string | undefined): string {
  return /^bearer +(\S{1,128})$/i.exec(header ?? '')?.[1] ?? '';
}

export function invalidKey(): AppError {
  return new AppError('invalid_api_key', 'The API key is missing or not valid', {
    suggestion: 'Send the header Authorization: Bearer wb_live_… or wb_test_…',
  });
}

/** Refuses large bodies of callers who cannot have a valid key, before a byte of them is read. */
export function refuseStrangers({ routeOptions, headers }: FastifyRequest): AppError | undefined {
  const { body } = routeOptions.config;
  if (!body || body.ignored || modeOfKey(bearerToken(headers.authorization)) !== undefined) return undefined;
  return invalidKey();
}
