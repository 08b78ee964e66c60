import { Injectable } from '@nestjs/common';
import { HealthIndicatorService } from '@nestjs/terminus';
import { DatabaseProbe } from './database-probe';

/** `database`: up when a statement is answered within 2 s. */
@Injectable()
export class DatabaseHealthIndicator {
  constructor(
    private readonly indicators: HealthIndicatorService,
    private readonly probe: DatabaseProbe,
  ) {}

  async check() {
    const session = this.indicators.check('database');
    const health = await this.probe.check();
    return health.healthy ? session.up({ health }) : session.down({ health });
  }
}
