import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal, type Principal } from '../../common/http/principal';
import { CursorPaginationDto } from '../../common/http/dto/envelope.dto';
import { ApiErrors, ApiList } from '../../common/http/dto/openapi.decorators';
import { RequireScope } from '../../common/http/scopes';
import { EventDto, PullEventsQuery, toEnd, toEventsDto, toStart } from './dto/event.dto';
import { EventsService } from './events.service';

/** `/v1/events`: the event log, to be polled with a cursor. */
@ApiTags('Events')
@Controller('v1/events')
@RequireScope('email:read')
export class EventsController {
  constructor(private readonly events: EventsService) {}

  @Get()
  @ApiOperation({
    summary: 'Pull events',
    description:
      'The events of all emails as webhooks send them, in the order in which they were recorded. Keep `nextCursor` and ' +
      'ask again with it: nothing is left out, and nothing comes twice. A page can be short, or empty, while `hasMore` is ' +
      'true. With `order=desc` the newest come first, and each page goes further back. Events of received mail ' +
      '(`inbound.received`) need the scope `inbound:read` as well.',
  })
  @ApiList(EventDto, CursorPaginationDto)
  @ApiErrors('invalid_request')
  async pull(@CurrentPrincipal() principal: Principal, @Query() query: PullEventsQuery) {
    const { order, limit } = query;
    const pulled =
      order === 'asc'
        ? await this.events.pull(principal, toStart(query), limit)
        : await this.events.pullBack(principal, toEnd(query), limit);
    return toEventsDto(pulled, query);
  }
}
