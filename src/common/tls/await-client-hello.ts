import type { Socket } from 'node:net';
import { leaveTurns } from '../async/socket-turns';
import { ClientHelloReader, MAX_BYTES } from './client-hello';

/**
 * Begins TLS once a connection has received a ClientHello, when `take` runs its work; never when it ends before. Until then the connection
 * holds nothing but these bytes. The signature, most of a handshake's time, is made when TLS begins. A connection on which something else
 * comes is closed. The caller bounds the time.
 *
 * While it waits the connection is read on: when TLS begins on one that has ended, Node crashes (20 and 24).
 *
 * @param take work that returns false when TLS cannot begin yet, since something that the connection has received waits for its turn
 */
export function whenClientHello(
  socket: Socket,
  take: (work: () => boolean, hello: ClientHelloReader) => void,
  begin: () => void,
): void {
  const pieces: Buffer[] = [];
  const hello = new ClientHelloReader();
  let bytes = 0;
  let isWhole = false;
  const leave = (): void => void socket.destroy();
  const start = (): boolean => {
    if (socket.destroyed) return true;
    if (!leaveTurns(socket)) return false;
    socket.off('data', read).off('end', leave).pause();
    socket.unshift(Buffer.concat(pieces));
    begin();
    return true;
  };
  const read = (piece: Buffer): void => {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > 2 * MAX_BYTES) return leave();
    if (isWhole) return;
    const reading = hello.read(piece);
    if (reading === 'other') return leave();
    isWhole = reading === 'whole';
    if (isWhole) take(start, hello);
  };
  // A connection that breaks is the client's affair.
  socket.on('error', () => undefined);
  socket.on('data', read).on('end', leave).resume();
}
