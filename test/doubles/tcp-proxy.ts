import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/**
 * Relays between a client and a server; `cut` resets the connections at both ends, `hang` lets them wait.
 *
 *     const proxy = await TcpProxy.start(5432);
 *     … proxy.port … proxy.cut(); … proxy.restore(); … await proxy.stop();
 */
export class TcpProxy {
  private readonly sockets = new Set<Socket>();
  private isCut = false;
  private isHanging = false;

  private constructor(
    private readonly server: Server,
    private readonly targetPort: number,
  ) {
    server.on('connection', (client) => this.join(client));
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpProxy(server, targetPort);
  }

  /** A proxy for the server in a URL; `url` is the same URL through the proxy. */
  static async before(target: string): Promise<{ proxy: TcpProxy; url: string }> {
    const proxy = await TcpProxy.start(Number(new URL(target).port));
    const through = new URL(target);
    through.host = `127.0.0.1:${proxy.port}`;
    return { proxy, url: through.href };
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Ends every connection; new ones are ended at once until `restore`. */
  cut(): void {
    this.isCut = true;
    this.isHanging = false;
    for (const socket of this.sockets) socket.destroy();
  }

  /** Passes nothing on any more, of new connections neither, as a network that swallows packets: until `cut`. */
  hang(): void {
    this.isHanging = true;
    for (const socket of this.sockets) socket.unpipe().pause();
  }

  restore(): void {
    this.isCut = false;
  }

  async stop(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
  }

  private join(client: Socket): void {
    if (this.isCut) return void client.destroy();
    if (this.isHanging) {
      this.sockets.add(client.on('error', () => undefined).on('close', () => this.sockets.delete(client)));
      return;
    }
    const target = connect(this.targetPort, '127.0.0.1');
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      this.sockets.add(from);
      from.setNoDelay(true);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }
}
