import type { Registry } from 'prom-client';
import { type ProbeResponse, type ProbeRoutes, type ProbeServer, startProbeServer } from '../http/probe-server';

export interface MetricsServerOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly registry: Registry;
  /** Further paths: the process's health. */
  readonly routes?: ProbeRoutes;
}

/** Serves `GET /metrics` for Prometheus, and health in every role, on a port of their own, away from clients; all else is 404. */
export function startMetricsServer({ host, port, registry, routes }: MetricsServerOptions): Promise<ProbeServer> {
  const metrics = async (): Promise<ProbeResponse> => {
    return { status: 200, body: await registry.metrics(), contentType: registry.contentType };
  };
  return startProbeServer({ variable: 'METRICS_PORT', host, port, routes: { '/metrics': metrics, ...routes } });
}
