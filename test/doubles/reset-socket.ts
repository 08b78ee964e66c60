import type { Socket } from 'node:net';

/** Ends a connection with RST alone; `resetAndDestroy` of Node sends FIN first, which is a regular end to the peer. */
export function reset(socket: Socket): void {
  // Under TLS it is the socket below that can be reset.
  const { _parent: below } = socket as Socket & { _parent?: Socket | null };
  // What `resetAndDestroy` sets before it says goodbye.
  Object.assign(below ?? socket, { resetAndClosing: true });
  socket.destroy();
}
