import { ValidationError } from '../../common/errors/app-error';
import { parseTimestamp } from '../../common/http/timestamps';
import type { ApiKey } from '../auth.entity';
import type { NewApiKey } from '../api-keys.service';
import type { ApiKeyDto, CreateApiKeyDto } from './api-key.dto';

/** @throws ValidationError for a malformed expiresAt */
export function toNewApiKey(body: CreateApiKeyDto): NewApiKey {
  const expiresAt = body.expiresAt === undefined ? undefined : parseTimestamp(body.expiresAt);
  if (body.expiresAt !== undefined && expiresAt === undefined) {
    throw new ValidationError({ expiresAt: ['expiresAt must be an ISO 8601 timestamp with an offset'] });
  }
  return { name: body.name, mode: body.mode, scopes: body.scopes, expiresAt, domainId: body.domainId };
}

type Shown = Omit<ApiKey, 'hash' | 'organizationId' | 'lastUsedAt' | 'revokedAt'> &
  Partial<Pick<ApiKey, 'lastUsedAt' | 'revokedAt'>>;

export function toApiKeyDto(key: Shown): ApiKeyDto {
  return {
    id: key.id,
    name: key.name,
    mode: key.mode,
    scopes: key.scopes,
    prefix: key.prefix,
    createdAt: key.createdAt.toISOString(),
    ...(key.expiresAt && { expiresAt: key.expiresAt.toISOString() }),
    ...(key.domainId && { domainId: key.domainId }),
    ...(key.lastUsedAt && { lastUsedAt: key.lastUsedAt.toISOString() }),
    ...(key.revokedAt && { revokedAt: key.revokedAt.toISOString() }),
  };
}
