import { Body, Controller, Get, Patch, Post, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { toPagination } from '../../common/http/dto/pagination';
import { AuditService } from '../../audit/audit.service';
import { ApiCursorList, ApiData, ApiList, ApiOperatorErrors, PathId } from '../../common/http/dto/openapi.decorators';
import { RequireOperatorScope } from '../../common/http/scopes';
import {
  ChangeOrganizationDto,
  CreateOrganizationDto,
  ListAuditQuery,
  ListOrganizationsQuery,
  OperatorAuditEntryDto,
  OperatorOverviewDto,
  OrganizationDto,
  toOperatorAuditEntryDto,
  toOrganizationDto,
  toWorkerDto,
  WorkerDto,
} from './dto/operator.dto';
import { OperatorQueueService } from './queue.service';
import { OperatorOrganizationsService, OverviewService } from './operator.service';
import { ApiKeysService } from '../../auth/keys/api-keys.service';
import { CreateApiKeyDto, CreatedApiKeyDto, toApiKeyDto, toNewApiKey } from '../../auth/keys/dto/api-key.dto';
import { PaginationDto } from '../../common/http/dto/envelope.dto';
import { CurrentOperator, type Operator } from '../../common/http/principal';

/** Operator: the overview of the installation, its workers, and the audit log of all organizations. */
@ApiTags('Operator')
@Controller('operator/v1')
@RequireOperatorScope('operator:read')
export class OperatorController {
  constructor(
    private readonly overviews: OverviewService,
    private readonly queue: OperatorQueueService,
    private readonly audit: AuditService,
  ) {}

  @Get('overview')
  @ApiOperation({ summary: 'See the installation at a glance', description: 'At most a few seconds old.' })
  @ApiData(OperatorOverviewDto)
  @ApiOperatorErrors()
  async overview() {
    const { rates, ...overview } = await this.overviews.get();
    const { accepted, delivered, deferred, bounced } = rates;
    const perMinute = {
      ...{ acceptedPerMinute: accepted, deliveredPerMinute: delivered },
      ...{ deferredPerMinute: deferred, bouncedPerMinute: bounced },
    };
    return { data: { ...overview, rates: perMinute } satisfies OperatorOverviewDto };
  }

  @Get('workers')
  @ApiOperation({ summary: 'List live worker processes', description: 'Oldest first.' })
  @ApiData(WorkerDto, { isArray: true })
  @ApiOperatorErrors()
  async workers() {
    return { data: (await this.queue.workers()).map(toWorkerDto) };
  }

  @Get('audit')
  @ApiOperation({
    summary: 'Read the audit log of all organizations',
    description: 'Newest first. What operators do with their keys has the actor `operator:` and the id of the key.',
  })
  @ApiCursorList(OperatorAuditEntryDto)
  @ApiOperatorErrors('invalid_request')
  async listAudit(@Query() { organization_id, action, target_id, limit, cursor }: ListAuditQuery) {
    const filter = {
      ...(organization_id !== undefined && { organizationId: organization_id.toLowerCase() }),
      ...(action !== undefined && { action }),
      ...(target_id !== undefined && { targetId: target_id }),
    };
    const { entries, hasMore } = await this.audit.listAll(filter, { limit, after: cursor?.toLowerCase() });
    const last = entries.at(-1);
    return { data: entries.map(toOperatorAuditEntryDto), ...(hasMore && last && { nextCursor: last.id }) };
  }
}

/** Operator: organizations and their first API keys. */
@ApiTags('Operator')
@Controller('operator/v1/organizations')
export class OperatorOrganizationsController {
  constructor(
    private readonly organizations: OperatorOrganizationsService,
    private readonly keys: ApiKeysService,
  ) {}

  @Get()
  @RequireOperatorScope('operator:read')
  @ApiOperation({ summary: 'List organizations', description: 'Newest first.' })
  @ApiList(OrganizationDto, PaginationDto)
  @ApiOperatorErrors('invalid_request')
  async list(@Query() { page, limit, q, status }: ListOrganizationsQuery) {
    const slice = { skip: (page - 1) * limit, take: limit };
    const [found, total] = await this.organizations.page({ text: q, status }, slice);
    return {
      data: found.map(toOrganizationDto),
      pagination: toPagination({ total }, { page, limit }),
    };
  }

  @Post()
  @RequireOperatorScope('operator:manage')
  @ApiOperation({ summary: 'Create an organization' })
  @ApiData(OrganizationDto, { status: 201 })
  @ApiOperatorErrors('invalid_request')
  async create(@CurrentOperator() { actor }: Operator, @Body() { name }: CreateOrganizationDto) {
    return { data: toOrganizationDto(await this.organizations.create(name, actor)) };
  }

  @Get(':id')
  @RequireOperatorScope('operator:read')
  @ApiOperation({ summary: 'Get an organization' })
  @ApiData(OrganizationDto)
  @ApiOperatorErrors('resource_not_found')
  async get(@PathId('id', 'Organization') id: string) {
    return { data: toOrganizationDto(await this.organizations.get(id)) };
  }

  @Patch(':id')
  @RequireOperatorScope('operator:manage')
  @ApiOperation({ summary: 'Change an organization', description: 'Takes effect everywhere within 5 seconds.' })
  @ApiData(OrganizationDto)
  @ApiOperatorErrors('invalid_request', 'resource_not_found')
  async change(
    @CurrentOperator() { actor }: Operator,
    @PathId('id', 'Organization') id: string,
    @Body() body: ChangeOrganizationDto,
  ) {
    return { data: toOrganizationDto(await this.organizations.update(id, body, actor)) };
  }

  @Post(':id/api-keys')
  @RequireOperatorScope('operator:manage')
  @ApiOperation({
    summary: 'Create an API key of an organization',
    description:
      'The key itself is in this response only. An organization has up to 500 keys that are neither revoked nor expired.',
  })
  @ApiData(CreatedApiKeyDto, { status: 201 })
  @ApiOperatorErrors('invalid_request', 'resource_not_found', 'api_key_limit_reached')
  async createKey(
    @CurrentOperator() { actor }: Operator,
    @PathId('id', 'Organization') id: string,
    @Body() body: CreateApiKeyDto,
  ) {
    await this.organizations.get(id);
    const created = await this.keys.create(id, toNewApiKey(body), actor);
    return { data: { ...toApiKeyDto(created), key: created.key } satisfies CreatedApiKeyDto };
  }
}
