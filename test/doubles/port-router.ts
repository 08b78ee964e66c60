import { type Route, Router } from '../../src/delivery/routing/router';

export interface PortRoute {
  readonly port: number;
  /** By default one, named like the destination, at 127.0.0.1. */
  readonly hosts?: readonly { readonly hostName: string; readonly addresses: readonly string[] }[];
  readonly group?: string;
}

/** Recipients' own servers on this machine: each destination has a port, and the best preference first. */
export class PortRouter extends Router {
  constructor(private readonly routeOf: (destination: string) => PortRoute) {
    super();
  }

  override resolve(destination: string): Promise<Route> {
    const {
      port,
      hosts = [{ hostName: `mx.${destination}`, addresses: ['127.0.0.1'] }],
      ...group
    } = this.routeOf(destination);
    const ranked = hosts.map((host, preference) => ({ ...host, preference }));
    return Promise.resolve({ kind: 'hosts', hosts: ranked, port, final: true, ...group });
  }
}
