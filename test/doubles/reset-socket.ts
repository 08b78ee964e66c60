import type { Socket } from 'node:net';

/** Ends a connection with RST alone; `resetAndDestroy` of Node sends FIN first, which is a regular end to the peer. */
export function reset(socket: Socket): void {
  // With TLS, only the underlying socket can be reset.
  const { _parent: below } = socket as Socket & { _parent?: Socket | null };
  const wire = below ?? socket;
  // The flag that `resetAndDestroy` sets before its FIN.
  Object.assign(wire, { resetAndClosing: true });
  // First: the end of TLS sends a close_notify, which is a regular end to a peer that reads it before the RST.
  wire.destroy();
  socket.destroy();
}
