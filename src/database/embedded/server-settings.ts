import { createServer } from 'node:net';
import { OperatorError } from '../../common/errors/app-error';

/** Names as in postgresql.conf, values as text. */
export type ServerSettings = Record<string, string>;

/** For a small service on a machine of its own: durable, modest in memory and disk, and quiet about people's addresses. */
const DEFAULTS: ServerSettings = {
  synchronous_commit: 'on',
  // The rest is cached by the system. 64 and 256 MB accepted and delivered no faster, and count to the service's memory.
  shared_buffers: '32MB',
  max_wal_size: '1GB',
  wal_compression: 'on',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // The detail of a violated constraint quotes the row, which may hold an address.
  log_error_verbosity: 'terse',
};

/**
 * The text for `pg_ctl -o`: loopback only, no unix socket. A shell reads it, so values are limited to plain characters.
 *
 * @throws on a name or value that would need quoting.
 */
export function serverOptions(port: number, settings: ServerSettings): string {
  const all: ServerSettings = {
    ...DEFAULTS,
    ...settings,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    port: String(port),
  };
  return Object.entries(all).map(serverOption).join(' ');
}

function serverOption([name, value]: [string, string]): string {
  if (!/^[a-z_.]+$/.test(name) || !/^[\w .,:/+-]*$/.test(value)) {
    throw new OperatorError(
      `The setting ${name}=${value} of the embedded Postgres has characters that cannot be passed on.`,
    );
  }
  return `-c "${name}=${value}"`;
}

/** A free port of the loopback interface: the preferred one if it still is free, else any. */
export async function findFreePort(preferred: number | undefined): Promise<number> {
  const port = (preferred === undefined ? undefined : await listenOnce(preferred)) ?? (await listenOnce(0));
  if (port === undefined) throw new OperatorError('The embedded Postgres found no free port on 127.0.0.1.');
  return port;
}

/** The port that could be listened on, or undefined when it is taken. */
function listenOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? address?.port : undefined));
    });
  });
}
