import { Controller, Get, HttpStatus, Res } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Public } from '../../common/http/scopes';
import { ApiPublicErrors } from '../../common/http/dto/openapi.decorators';
import { HealthReportDto, LivenessDto, ReadinessDto } from './dto/health.dto';
import { HealthService } from './health.service';

const { OK, SERVICE_UNAVAILABLE } = HttpStatus;

/** For probes and monitors. The bodies are not wrapped in `data`, and a 503 here carries a report, not the error envelope. */
@ApiTags('Health')
@Controller('health')
@Public()
export class HealthController {
  constructor(private readonly health: HealthService) {}

  @Get()
  @ApiOperation({ summary: 'Is the process alive?', description: 'Never touches the database.' })
  @ApiResponse({ status: OK, description: 'Alive', type: LivenessDto })
  @ApiPublicErrors('internal_error')
  live(): LivenessDto {
    return this.health.live();
  }

  @Get('startup')
  @ApiOperation({
    summary: 'Can the process take requests?',
    description: 'Asks the database on a connection of its own, for at most 2 seconds.',
  })
  @ApiResponse({ status: OK, description: 'Ready', type: ReadinessDto })
  @ApiResponse({ status: SERVICE_UNAVAILABLE, description: 'Not ready: away or stopping', type: ReadinessDto })
  @ApiPublicErrors('internal_error')
  async startup(@Res({ passthrough: true }) response: Response): Promise<ReadinessDto> {
    const readiness = await this.health.ready();
    response.status(readiness.status === 'ready' ? OK : SERVICE_UNAVAILABLE);
    return readiness;
  }

  @Get('detailed')
  @ApiOperation({
    summary: 'How is the service?',
    description:
      '`degraded`: mail is accepted but may be late (no worker is alive, the oldest mail has waited for 15 minutes, the ' +
      'queue cannot be measured, or the process is stopping). `unhealthy`: the database is away.',
  })
  @ApiResponse({ status: OK, description: 'Ok or degraded', type: HealthReportDto })
  @ApiResponse({ status: SERVICE_UNAVAILABLE, description: 'Unhealthy', type: HealthReportDto })
  @ApiPublicErrors('internal_error')
  async detailed(@Res({ passthrough: true }) response: Response): Promise<HealthReportDto> {
    const report = await this.health.report();
    response.status(report.status === 'unhealthy' ? SERVICE_UNAVAILABLE : OK);
    return report;
  }
}
