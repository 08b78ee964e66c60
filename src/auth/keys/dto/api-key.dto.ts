import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsIn,
  IsOptional,
  IsString,
  IsUUID,
  Length,
} from 'class-validator';
import { ALL_SCOPES, type Scope } from '../../../common/http/scopes';
import { Timestamp } from '../../../common/http/dto/dto-decorators';
import { type Mode, MODES } from '../../../common/tenant';
import type { NewApiKey } from '../api-keys.service';
import type { ApiKey } from '../api-key.entity';

export class CreateApiKeyDto {
  @ApiProperty({ minLength: 1, maxLength: 100, example: 'Shop backend' }) @IsString() @Length(1, 100) name!: string;

  @ApiProperty({ enum: MODES }) @IsIn(MODES) mode!: Mode;

  @ApiProperty({
    enum: ALL_SCOPES,
    isArray: true,
    minItems: 1,
    uniqueItems: true,
    example: ['email:send', 'email:read'],
    description: 'Only scopes that the calling key has itself',
  })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(ALL_SCOPES.length)
  @ArrayUnique()
  @IsIn(ALL_SCOPES, { each: true })
  scopes!: Scope[];

  @ApiPropertyOptional({ format: 'date-time', example: '2030-01-01T00:00:00.000Z' })
  @IsOptional()
  @Timestamp()
  expiresAt?: Date;

  @ApiPropertyOptional({ format: 'uuid', description: 'Binds the key to one domain' })
  @IsOptional()
  @IsUUID()
  domainId?: string;
}

export class ApiKeyDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() name!: string;
  @ApiProperty({ enum: MODES }) mode!: Mode;
  @ApiProperty({ isArray: true, type: String }) scopes!: string[];
  @ApiProperty({ description: 'The first characters of the key', example: 'wb_live_Ab3d' }) prefix!: string;
  @ApiProperty({ format: 'date-time' }) createdAt!: string;
  @ApiPropertyOptional({ format: 'date-time' }) expiresAt?: string;
  @ApiPropertyOptional({ format: 'uuid' }) domainId?: string;
  @ApiPropertyOptional({ format: 'date-time' }) lastUsedAt?: string;
  @ApiPropertyOptional({ format: 'date-time' }) revokedAt?: string;
}

/** Response of `POST /v1/api-keys`: the only one that holds the key itself. */
export class CreatedApiKeyDto extends ApiKeyDto {
  @ApiProperty({ description: 'The key itself, shown once' }) key!: string;
}

export class RevokedApiKeyDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ enum: [true] }) revoked!: true;
}

export function toNewApiKey({ name, mode, scopes, expiresAt, domainId }: CreateApiKeyDto): NewApiKey {
  return { name, mode, scopes, expiresAt, domainId: domainId?.toLowerCase() };
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
