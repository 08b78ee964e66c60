import type { Socket } from 'node:net';
import { CONNECTION_TURNS, type SharedTurns } from './shared-turns';

/** Node's own, below the stream. */
interface Handle {
  readonly _handle?: { readStop(): void } | null;
}

/**
 * What a connection receives, its end included, waits when this turn of the event loop has no time left, and so does its closing.
 * Node reads from all connections, and closes all that are broken, in one turn: 8,000 requests that came at the same moment held the
 * event loop for 1.2 s, 8,000 connections that were cut off for 0.8 s.
 *
 * Both are overrides of methods that Node documents for those who implement streams: to a stream it is as if its transport were
 * slower. While something waits nothing more is read, so it holds what one read returned, at most 64 KiB.
 *
 * Not for TLS, nor for a socket on which it starts: Node 20 ends with SIGSEGV when a TLS socket learns late that its connection is
 * closed.
 *
 * @param holder whom to count as one client
 */
export function socketInTurns(socket: Socket, holder: string, turns: SharedTurns = CONNECTION_TURNS): void {
  receiveInTurns(socket, holder, turns);
  closeInTurns(socket, holder, turns);
}

function receiveInTurns(socket: Socket, holder: string, turns: SharedTurns): void {
  const push = socket.push.bind(socket);
  /** In the order in which it came; null is the end. */
  const held: (Buffer | null)[] = [];
  const handOn = (): void => {
    for (const bytes of held.splice(0)) if (!socket.destroyed) push(bytes);
  };
  socket.push = (bytes: Buffer | null) => {
    if (held.length === 0 && turns.isFree()) return push(bytes);
    held.push(bytes);
    if (held.length === 1) turns.run(holder, handOn);
    return false;
  };
}

function closeInTurns(socket: Socket & Handle, holder: string, turns: SharedTurns): void {
  const destroy = socket.destroy.bind(socket);
  socket.destroy = (error?: NodeJS.ErrnoException) => {
    if (error?.syscall !== 'read' || turns.isFree()) return destroy(error);
    // The client's reset; Node reads no more. The text of the stack alone takes it 7 µs.
    turns.run(holder, () => void destroy(error));
    return socket;
  };
  const close = socket._destroy.bind(socket);
  socket._destroy = (error, callback) => {
    if (turns.isFree()) return close(error, callback);
    // Node throws when a destroyed socket receives something.
    socket._handle?.readStop();
    turns.run(holder, () => close(error, callback));
  };
}
