import { Module } from '@nestjs/common';
import { getOptionsToken, getStorageToken } from '@nestjs/throttler';
import { AuthenticationFailures } from '../common/http/authentication-failures';
import { RequestLimits } from '../common/http/request-limits';
import { AppConfig } from '../config/config';
import { AuthenticationFailureLimiter } from './authentication-failure-limiter';
import { limitsWith, ThrottlingConfig } from './limits';
import { RateLimitGuard } from './rate-limit.guard';
import { SharedThrottleStorage } from './shared-throttle.storage';
import { ThrottleHitsRepository } from './throttle-hits.repository';

/** Request limits. The guard is registered in the root module, right after the one that authenticates. */
@Module({
  providers: [
    {
      provide: ThrottlingConfig,
      inject: [AppConfig],
      useFactory: ({ limits }: AppConfig): ThrottlingConfig => ({
        enabled: limits.rateLimitEnabled,
        limits: limitsWith({ 'test-key': limits.testRequestsPerHour, ...limits.requestLimits }),
      }),
    },
    // The guard decides the limits per request; the library only wants to see one.
    { provide: getOptionsToken(), useValue: { throttlers: [{ limit: 0, ttl: 0 }] } },
    { provide: getStorageToken(), useExisting: SharedThrottleStorage },
    { provide: AuthenticationFailures, useClass: AuthenticationFailureLimiter },
    ThrottleHitsRepository,
    SharedThrottleStorage,
    RateLimitGuard,
    { provide: RequestLimits, useExisting: RateLimitGuard },
  ],
  exports: [AuthenticationFailures, RateLimitGuard, RequestLimits],
})
export class ThrottlingModule {}
