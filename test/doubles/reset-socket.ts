import type { Socket } from 'node:net';

/** Ends a connection with RST alone; `resetAndDestroy` of Node sends FIN first, which is a regular end to the peer. */
export function reset(socket: Socket): void {
  // With TLS, only the underlying socket can be reset.
  const { _parent: below } = socket as Socket & { _parent?: Socket | null };
  // The flag that `resetAndDestroy` sets before its FIN.
  Object.assign(below ?? socket, { resetAndClosing: true });
  socket.destroy();
}
