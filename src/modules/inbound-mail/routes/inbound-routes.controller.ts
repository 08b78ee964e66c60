import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { cutPage, toPagination } from '../../../common/http/dto/pagination';
import { PaginationDto, toNamedSlice } from '../../../common/http/dto/envelope.dto';
import { LiveOnly, RequireScope, Unbound } from '../../../common/http/scopes';
import { ApiData, ApiErrors, ApiList, PathId } from '../../../common/http/dto/openapi.decorators';
import { CurrentPrincipal, type Principal } from '../../../common/http/principal';
import {
  AddInboundRouteDto,
  ChangeInboundRouteDto,
  InboundRouteDto,
  ListInboundRoutesQuery,
  RemovedInboundRouteDto,
  toInboundRouteDto,
} from './dto/inbound-route.dto';
import { InboundRoutesService, type RouteAuthor } from './inbound-routes.service';

/** Routes are the organization's, and of live mail alone. */
@ApiTags('Inbound')
@Controller('v1/inbound-routes')
@RequireScope('inbound:read')
@Unbound()
export class InboundRoutesController {
  constructor(private readonly routes: InboundRoutesService) {}

  @Post()
  @RequireScope('inbound:manage')
  @LiveOnly()
  @ApiOperation({
    summary: 'Add an inbound route',
    description: 'Mail to its address is accepted from now on. An exact address takes precedence over `*@`.',
  })
  @ApiData(InboundRouteDto, { status: 201 })
  @ApiErrors(
    ...(['invalid_request', 'domain_not_allowed', 'domain_not_verified'] as const),
    ...(['inbound_route_already_exists', 'inbound_route_limit_reached'] as const),
  )
  async add(@CurrentPrincipal() principal: Principal, @Body() body: AddInboundRouteDto) {
    return { data: toInboundRouteDto(await this.routes.create(authorOf(principal), body)) };
  }

  @Get()
  @ApiOperation({ summary: 'List inbound routes', description: 'By address.' })
  @ApiList(InboundRouteDto, PaginationDto)
  @ApiErrors('invalid_request', 'domain_not_allowed')
  async list(@CurrentPrincipal() { organizationId }: Principal, @Query() query: ListInboundRoutesQuery) {
    const { routes, total } = await this.routes.page(organizationId, toNamedSlice(query));
    const { shown, last } = cutPage(routes, query.limit);
    return { data: shown.map(toInboundRouteDto), pagination: toPagination({ total, next: last?.address }, query) };
  }

  @Get(':id')
  @ApiOperation({ summary: 'Read an inbound route' })
  @ApiData(InboundRouteDto)
  @ApiErrors('domain_not_allowed', 'resource_not_found')
  async detail(@CurrentPrincipal() { organizationId }: Principal, @PathId('id', 'Inbound route') id: string) {
    return { data: toInboundRouteDto(await this.routes.get(organizationId, id)) };
  }

  @Patch(':id')
  @RequireScope('inbound:manage')
  @LiveOnly()
  @ApiOperation({ summary: 'Change an inbound route', description: 'Fields that are left out stay.' })
  @ApiData(InboundRouteDto)
  @ApiErrors(
    ...(['invalid_request', 'domain_not_allowed', 'resource_not_found'] as const),
    ...(['domain_not_verified', 'inbound_route_already_exists'] as const),
  )
  async change(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Inbound route') id: string,
    @Body() body: ChangeInboundRouteDto,
  ) {
    return { data: toInboundRouteDto(await this.routes.change(authorOf(principal), id, body)) };
  }

  @Delete(':id')
  @HttpCode(200)
  @RequireScope('inbound:manage')
  @LiveOnly()
  @ApiOperation({
    summary: 'Delete an inbound route',
    description: 'Mail to it is refused from now on; stored mail stays.',
  })
  @ApiData(RemovedInboundRouteDto)
  @ApiErrors('domain_not_allowed', 'resource_not_found')
  async remove(@CurrentPrincipal() principal: Principal, @PathId('id', 'Inbound route') id: string) {
    await this.routes.remove(authorOf(principal), id);
    return { data: { id, deleted: true } satisfies RemovedInboundRouteDto };
  }
}

function authorOf({ organizationId, apiKeyId: actor }: Principal): RouteAuthor {
  return { organizationId, actor };
}
