import { Body, Controller, Delete, Get, HttpCode, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal, type Principal } from '../../common/http/principal';
import { ApiData, ApiErrors, ApiList, PathId } from '../../common/http/dto/openapi.decorators';
import { RateLimitClass } from '../../common/http/request/request-limits';
import { ApiKeysService } from './api-keys.service';
import {
  ApiKeyDto,
  CreateApiKeyDto,
  CreatedApiKeyDto,
  RevokedApiKeyDto,
  toApiKeyDto,
  toNewApiKey,
} from './dto/api-key.dto';
import { RequireScope } from '../../common/http/scopes';

/** `/v1/api-keys`: create, list, revoke. */
@ApiTags('API keys')
@Controller('v1/api-keys')
@RequireScope('key:manage')
export class ApiKeysController {
  constructor(private readonly keys: ApiKeysService) {}

  @Post()
  @RateLimitClass('api-key-writes')
  @ApiOperation({
    summary: 'Create an API key',
    description:
      'The key itself is in this response only. A key can only grant what it has itself: its scopes, its mode, its ' +
      'domain, and at most its remaining lifetime. An organization has up to 500 keys that are neither revoked nor expired.',
  })
  @ApiData(CreatedApiKeyDto, { status: 201 })
  @ApiErrors('invalid_request', 'insufficient_permissions', 'domain_not_allowed', 'api_key_limit_reached')
  async create(@CurrentPrincipal() principal: Principal, @Body() body: CreateApiKeyDto) {
    const created = await this.keys.createFor(principal, toNewApiKey(body));
    return { data: { ...toApiKeyDto(created), key: created.key } satisfies CreatedApiKeyDto };
  }

  @Get()
  @ApiOperation({
    summary: 'List API keys',
    description: 'Newest first: all that are not revoked, and the newest of the revoked ones, 1,000 at most.',
  })
  @ApiList(ApiKeyDto, 'total')
  @ApiErrors('insufficient_permissions')
  async list(@CurrentPrincipal() principal: Principal) {
    const keys = await this.keys.listFor(principal);
    return { data: keys.map(toApiKeyDto), total: keys.length };
  }

  @Delete(':id')
  @RateLimitClass('api-key-revocations')
  @HttpCode(200)
  @ApiOperation({ summary: 'Revoke an API key', description: 'Takes effect everywhere within 5 seconds.' })
  @ApiData(RevokedApiKeyDto)
  @ApiErrors('insufficient_permissions', 'resource_not_found')
  async revoke(@CurrentPrincipal() principal: Principal, @PathId('id', 'API key') id: string) {
    await this.keys.revokeFor(principal, id);
    return { data: { id, revoked: true } satisfies RevokedApiKeyDto };
  }
}
