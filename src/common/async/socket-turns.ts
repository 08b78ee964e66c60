import type { Socket } from 'node:net';
import { CONNECTION_TURNS, type SharedTurns } from './shared-turns';

/** Node's own, below the stream. */
interface Handle {
  readonly _handle?: { readStop(): void } | null;
}

interface InTurns {
  /** Something that was received, its end, or a reset, waits. */
  isWaiting: boolean;
  /** What happens is passed on at once. */
  hasLeft: boolean;
  /** But for its closing. */
  closesInTurns: boolean;
}

const IN_TURNS = new WeakMap<Socket, InTurns>();

/**
 * What a connection receives, its end included, waits when this turn of the event loop has no time left, and so does its closing.
 * Node reads from all connections, and closes all that are broken, in one turn: 8,000 requests that came at the same moment held the
 * event loop for 1.2 s, 8,000 connections that were cut off for 0.8 s.
 *
 * Both are overrides of methods that Node documents for those who implement streams: to a stream it is as if its transport were
 * slower. While something waits nothing more is read, so it holds what one read returned, at most 64 KiB.
 *
 * Not for a connection that Node itself reads below TLS: Node 20 ends with SIGSEGV when a TLS socket learns late that its connection is
 * closed. Before TLS starts on a socket, `leaveTurns`.
 *
 * @param holder whom to count as one client
 */
export function socketInTurns(socket: Socket, holder: string, turns: SharedTurns = CONNECTION_TURNS): void {
  const state: InTurns = { isWaiting: false, hasLeft: false, closesInTurns: false };
  IN_TURNS.set(socket, state);
  const isFree = () => state.hasLeft || turns.isFree();
  const later = (work: () => void) => turns.run(holder, work);
  receiveInTurns(socket, state, isFree, later);
  closeInTurns(socket, state, () => (state.hasLeft && !state.closesInTurns) || turns.isFree(), later);
}

/**
 * The same for what TLS has decrypted, the end included, but not for closing: TLS itself learns at once what happens to its connection.
 * From its event `secure` on.
 */
export function tlsInTurns(socket: Socket, holder: string, turns: SharedTurns = CONNECTION_TURNS): void {
  const isFree = () => turns.isFree();
  receiveInTurns(socket, { isWaiting: false, hasLeft: false, closesInTurns: false }, isFree, (work) =>
    turns.run(holder, work),
  );
}

/** @returns false while something of this socket waits for its turn, and when it is destroyed; true as well when it is not in turns */
export function leaveTurns(socket: Socket): boolean {
  const state = IN_TURNS.get(socket);
  if (!state) return true;
  if (state.isWaiting || socket.destroyed) return false;
  state.hasLeft = true;
  return true;
}

/** From when TLS reads the connection as a stream (`asStream`): then it may learn late that the connection is closed. */
export function keepClosingInTurns(socket: Socket): void {
  const state = IN_TURNS.get(socket);
  if (state) state.closesInTurns = true;
}

type Later = (work: () => void) => void;

function receiveInTurns(socket: Socket, state: InTurns, isFree: () => boolean, later: Later): void {
  const push = socket.push.bind(socket);
  /** In the order in which it came; null is the end. */
  const held: (Buffer | null)[] = [];
  const handOn = (): void => {
    while (held.length > 0) {
      const bytes = held.shift() ?? null;
      // Before it is passed on: who receives the last of it may start TLS at once.
      state.isWaiting = held.length > 0;
      if (!socket.destroyed) push(bytes);
    }
  };
  socket.push = (bytes: Buffer | null) => {
    if (held.length === 0 && isFree()) return push(bytes);
    held.push(bytes);
    state.isWaiting = true;
    if (held.length === 1) later(handOn);
    return false;
  };
}

function closeInTurns(socket: Socket & Handle, state: InTurns, isFree: () => boolean, later: Later): void {
  const destroy = socket.destroy.bind(socket);
  socket.destroy = (error?: NodeJS.ErrnoException) => {
    if (error?.syscall !== 'read' || isFree()) return destroy(error);
    state.isWaiting = true;
    // The client's reset; Node reads no more. The text of the stack alone takes it 7 µs.
    later(() => void destroy(error));
    return socket;
  };
  const close = socket._destroy.bind(socket);
  socket._destroy = (error, callback) => {
    if (isFree()) return close(error, callback);
    // Node throws when a destroyed socket receives something.
    socket._handle?.readStop();
    later(() => close(error, callback));
  };
}
