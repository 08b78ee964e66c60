import { Inject, Injectable, Optional } from '@nestjs/common';
import { HealthIndicatorService } from '@nestjs/terminus';
import { Draining } from '../../common/http/draining';

/** `process`: down once it has begun to stop, so that a load balancer moves on before the port closes. */
@Injectable()
export class ProcessHealthIndicator {
  constructor(
    private readonly indicators: HealthIndicatorService,
    @Optional() @Inject(Draining) private readonly draining?: Draining,
  ) {}

  check() {
    const session = this.indicators.check('process');
    return this.draining?.active ? session.down('stopping') : session.up();
  }
}
