import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { AuditService } from '../../audit/audit.service';
import { ApiCursorList, ApiData, ApiOperatorErrors } from '../../common/http/openapi.decorators';
import { RequireOperatorScope } from '../../common/http/scopes';
import {
  ListAuditQuery,
  OperatorAuditEntryDto,
  OperatorOverviewDto,
  toOperatorAuditEntryDto,
  toWorkerDto,
  WorkerDto,
} from './dto/operator.dto';
import { OperatorQueueService } from './queue.service';
import { OverviewService } from './operator.service';

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
  async listAudit(@Query() { organization_id, action, limit, cursor }: ListAuditQuery) {
    const filter = {
      ...(organization_id !== undefined && { organizationId: organization_id.toLowerCase() }),
      ...(action !== undefined && { action }),
    };
    const { entries, hasMore } = await this.audit.listAll(filter, { limit, after: cursor?.toLowerCase() });
    const last = entries.at(-1);
    return { data: entries.map(toOperatorAuditEntryDto), ...(hasMore && last && { nextCursor: last.id }) };
  }
}
