import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { AppConfig } from '../config/config';

/**
 * With `PORT=0` any free port, chosen before anything starts: links in mail have it, unless `PUBLIC_URL` says where they lead.
 * It may be taken by another process meanwhile.
 */
export async function withChosenPort(config: AppConfig): Promise<AppConfig> {
  const { http, roles } = config;
  if (http.port !== 0 || !roles.has('api')) return config;
  // An address that cannot be listened on is reported when it is.
  const port = await freePort(http.host).catch(() => 0);
  return { ...config, http: { ...http, port, publicUrl: withPort(http.publicUrl, port) } };
}

function withPort(publicUrl: string, port: number): string {
  return publicUrl === 'http://localhost:0' ? `http://localhost:${port}` : publicUrl;
}

async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
