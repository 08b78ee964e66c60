import { Module } from '@nestjs/common';
import { getOptionsToken, getStorageToken } from '@nestjs/throttler';
import { AuthenticationFailures, LoginFailures, RequestLimits } from '../common/http/request/request-limits';
import { AppConfig } from '../config/config';
import { AuthenticationFailureLimiter, SharedLoginFailures } from './authentication-failure-limiter';
import { limitsWith, ThrottlingConfig } from './limits';
import { RateLimitGuard } from './rate-limit.guard';
import { TenantTurnsGuard } from './tenant-turns.guard';
import { SharedThrottleStorage } from './shared-throttle.storage';
import { ThrottleHitsRepository } from './throttle-hits.repository';

/** Request limits. The guards are registered in the root module, right after the ones that authenticate. */
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
    // The limits of the endpoint classes are in `limits.ts`; this one is the `default` that `@Throttle` and `@SkipThrottle` name.
    { provide: getOptionsToken(), useValue: { throttlers: [{ name: 'default', limit: 0, ttl: 0 }] } },
    { provide: getStorageToken(), useExisting: SharedThrottleStorage },
    { provide: AuthenticationFailures, useClass: AuthenticationFailureLimiter },
    { provide: LoginFailures, useClass: SharedLoginFailures },
    ThrottleHitsRepository,
    SharedThrottleStorage,
    RateLimitGuard,
    TenantTurnsGuard,
    { provide: RequestLimits, useExisting: RateLimitGuard },
  ],
  exports: [AuthenticationFailures, LoginFailures, RateLimitGuard, TenantTurnsGuard, RequestLimits],
})
export class ThrottlingModule {}
