import type { DatabaseFault } from './database-fault';
import type { DatabaseHealth } from './database-probe';

/** The process runs. */
export interface Liveness {
  readonly status: 'ok';
  readonly timestamp: string;
  readonly service: 'waybill';
}

/** Whether the process should be sent requests. */
export interface Readiness {
  readonly status: 'ready' | 'not_ready';
  readonly timestamp: string;
  readonly database: DatabaseHealth;
}

/** How much mail is open; when it could not be measured, only why. */
export type QueueHealth =
  | {
      readonly healthy: true;
      /** Open deliveries: ready, waiting and claimed ones. */
      readonly depth: number;
      readonly ready: number;
      readonly waiting: number;
      readonly claimed: number;
      /** How long the oldest delivery that could start has waited. */
      readonly oldestSeconds: number;
    }
  | { readonly healthy: false; readonly error: DatabaseFault };

/** `ok`, `degraded` (mail is accepted but may be late) or `unhealthy` (the database is away). */
export interface HealthReport {
  readonly status: 'ok' | 'degraded' | 'unhealthy';
  readonly timestamp: string;
  /** Seconds since the process started. */
  readonly uptime: number;
  /** Bytes. */
  readonly memory: { readonly rss: number; readonly heapUsed: number; readonly heapTotal: number };
  readonly services: {
    readonly database: DatabaseHealth;
    readonly queue: QueueHealth;
    /** Live worker processes of the whole installation; absent when it could not be measured. */
    readonly workers?: number;
  };
  readonly environment: { readonly nodeVersion: string; readonly platform: string; readonly arch: string };
}
