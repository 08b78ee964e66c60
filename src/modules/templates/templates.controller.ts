import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { cutPage, toPagination } from '../../common/http/dto/pagination';
import { PaginationDto, toNamedSlice } from '../../common/http/dto/envelope.dto';
import { LiveOnly, RequireScope, Unbound } from '../../common/http/scopes';
import { ApiData, ApiErrors, ApiList, PathId } from '../../common/http/dto/openapi.decorators';
import { CurrentPrincipal, type Principal } from '../../common/http/principal';
import { RateLimitClass } from '../../common/http/request/request-limits';
import { DEFAULT_BODY, MIB, TakesBody } from '../../common/http/request/request-body';
import {
  AddTemplateDto,
  ChangeTemplateDto,
  ListTemplatesQuery,
  RemovedTemplateDto,
  RenderedTemplateDto,
  RenderTemplateDto,
  TemplateDto,
  TemplateListItemDto,
  TemplateVersionDto,
  TemplateVersionQuery,
  toListItems,
  toRenderedDto,
  toTemplateDto,
  toTemplateUse,
  toVersionDto,
} from './dto/template.dto';
import { type TemplateAuthor, TemplatesService } from './templates.service';

/** Large enough for both parts at their longest, as JSON. */
const TEMPLATE_BODY = { ...DEFAULT_BODY, maxBytes: 2 * MIB };
const RENDER_BODY = { ...DEFAULT_BODY, maxBytes: MIB / 2 };

/** `/v1/templates`. Live and test mail share an organization's templates: test keys read and use them, keys bound to a domain use them. */
@ApiTags('Templates')
@Controller('v1/templates')
@RequireScope('template:read')
@Unbound()
export class TemplatesController {
  constructor(private readonly templates: TemplatesService) {}

  @Post()
  @RequireScope('template:manage')
  @LiveOnly()
  @TakesBody(TEMPLATE_BODY)
  @ApiOperation({
    summary: 'Add a template',
    description: 'Liquid. A syntax error is refused with its line and column.',
  })
  @ApiData(TemplateDto, { status: 201 })
  @ApiErrors('invalid_request', 'domain_not_allowed', 'template_already_exists', 'template_limit_reached')
  async add(@CurrentPrincipal() principal: Principal, @Body() body: AddTemplateDto) {
    return { data: toTemplateDto(await this.templates.create(authorOf(principal), body)) };
  }

  @Get()
  @ApiOperation({ summary: 'List templates', description: 'By name, without html and text.' })
  @ApiList(TemplateListItemDto, PaginationDto)
  @ApiErrors('invalid_request', 'domain_not_allowed')
  async list(@CurrentPrincipal() { organizationId }: Principal, @Query() query: ListTemplatesQuery) {
    const { listed, total } = await this.templates.page(organizationId, { ...toNamedSlice(query), text: query.q });
    const { shown, last } = cutPage(listed, query.limit);
    return { data: toListItems(shown), pagination: toPagination({ total, next: last?.template.name }, query) };
  }

  @Get(':id')
  @ApiOperation({ summary: 'Read a template' })
  @ApiData(TemplateDto)
  @ApiErrors('invalid_request', 'domain_not_allowed', 'resource_not_found')
  async detail(
    @CurrentPrincipal() { organizationId }: Principal,
    @PathId('id', 'Template') id: string,
    @Query() { version }: TemplateVersionQuery,
  ) {
    return { data: toTemplateDto(await this.templates.get(organizationId, id, version)) };
  }

  @Patch(':id')
  @RequireScope('template:manage')
  @LiveOnly()
  @TakesBody(TEMPLATE_BODY)
  @ApiOperation({
    summary: 'Change a template',
    description: 'Creates a new version, which sends use from now on. Fields that are left out stay.',
  })
  @ApiData(TemplateDto)
  @ApiErrors(
    'invalid_request',
    'domain_not_allowed',
    'resource_not_found',
    'template_already_exists',
    'template_limit_reached',
  )
  async change(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Template') id: string,
    @Body() body: ChangeTemplateDto,
  ) {
    return { data: toTemplateDto(await this.templates.change(authorOf(principal), id, body)) };
  }

  @Delete(':id')
  @HttpCode(200)
  @RequireScope('template:manage')
  @LiveOnly()
  @ApiOperation({
    summary: 'Delete a template',
    description: 'With all its versions. Emails that were rendered from it stay.',
  })
  @ApiData(RemovedTemplateDto)
  @ApiErrors('domain_not_allowed', 'resource_not_found')
  async remove(@CurrentPrincipal() principal: Principal, @PathId('id', 'Template') id: string) {
    await this.templates.remove(authorOf(principal), id);
    return { data: { id, deleted: true } satisfies RemovedTemplateDto };
  }

  @Get(':id/versions')
  @ApiOperation({
    operationId: 'templates.versions',
    summary: "List a template's versions",
    description: 'Newest first, the last 200, without html and text.',
  })
  @ApiList(TemplateVersionDto, 'total')
  @ApiErrors('domain_not_allowed', 'resource_not_found')
  async versions(@CurrentPrincipal() { organizationId }: Principal, @PathId('id', 'Template') id: string) {
    const versions = await this.templates.versions(organizationId, id);
    return { data: versions.map(toVersionDto), total: versions.length };
  }

  @Post(':id/render')
  @HttpCode(200)
  @RateLimitClass('reads')
  @TakesBody(RENDER_BODY)
  @ApiOperation({
    operationId: 'templates.render',
    summary: 'Preview a template',
    description: 'Renders the parts of an email without sending one.',
  })
  @ApiData(RenderedTemplateDto)
  @ApiErrors('invalid_request', 'domain_not_allowed', 'resource_not_found', 'template_render_failed')
  async render(
    @CurrentPrincipal() { organizationId }: Principal,
    @PathId('id', 'Template') id: string,
    @Body() body: RenderTemplateDto,
  ) {
    return { data: toRenderedDto(await this.templates.preview(organizationId, id, toTemplateUse(body))) };
  }
}

function authorOf({ organizationId, apiKeyId: actor }: Principal): TemplateAuthor {
  return { organizationId, actor };
}
