import { Injectable } from '@nestjs/common';
import { LoginFailures } from '../common/http/request-limits';
import { ThrottleHitsRepository } from './throttle-hits.repository';

/** Failed logins in the counters that all processes share; by the minute, and by the database's clock. */
@Injectable()
export class SharedLoginFailures extends LoginFailures {
  constructor(private readonly hits: ThrottleHitsRepository) {
    super();
  }

  count(client: string, minutes: number): Promise<number> {
    return this.hits.recent(keyOf(client), minutes);
  }

  async add(client: string, minutes: number): Promise<number> {
    await this.hits.addRecent(keyOf(client), minutes);
    return this.hits.recent(keyOf(client), minutes);
  }
}

function keyOf(client: string): string {
  return `smtp-login:${client}`;
}
