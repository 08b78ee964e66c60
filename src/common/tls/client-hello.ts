import type { Socket } from 'node:net';

const HANDSHAKE = 22;
/** Type, version and length of a record; type and length of a message. */
const [RECORD_HEAD, MESSAGE_HEAD] = [5, 4];
/** More than any ClientHello has; TLS refuses it. */
const MAX_BYTES = 64 * 1024;

/**
 * Whether these bytes need no others for the first step of a handshake: they begin with all records of a ClientHello (RFC 8446
 * sections 4 and 5.1), or with something else, which TLS refuses.
 */
export function holdsClientHello(bytes: Buffer): boolean {
  if (bytes.length === 0) return false;
  if (bytes[0] !== HANDSHAKE || bytes.length > MAX_BYTES) return true;
  const parts: Buffer[] = [];
  for (let at = 0; at + RECORD_HEAD <= bytes.length;) {
    if (bytes[at] !== HANDSHAKE) return true;
    const end = at + RECORD_HEAD + bytes.readUInt16BE(at + 3);
    if (end > bytes.length) return false;
    parts.push(bytes.subarray(at + RECORD_HEAD, end));
    at = end;
    const message = Buffer.concat(parts);
    if (message.length >= MESSAGE_HEAD && message.length >= MESSAGE_HEAD + message.readUIntBE(1, 3)) return true;
  }
  return false;
}

/**
 * Begins TLS once a connection has received a ClientHello, in a turn of `take`; never when it ends before. Until then the connection
 * holds nothing but these bytes. The signature, most of a handshake's time, is made when TLS begins. The caller bounds the time.
 *
 * While it waits the connection is read on: when TLS begins on one that has ended, Node crashes (20 and 24).
 */
export function whenClientHello(socket: Socket, take: (work: () => void) => void, begin: () => void): void {
  let received = Buffer.alloc(0);
  let isWhole = false;
  const leave = (): void => void socket.destroy();
  const start = (): void => {
    if (socket.destroyed) return;
    socket.off('data', read).off('end', leave).pause();
    socket.unshift(received);
    begin();
  };
  const read = (bytes: Buffer): void => {
    received = Buffer.concat([received, bytes]);
    if (received.length > 2 * MAX_BYTES) return leave();
    if (isWhole || !holdsClientHello(received)) return;
    isWhole = true;
    take(start);
  };
  // A connection that breaks is the client's affair.
  socket.on('error', () => undefined);
  socket.on('data', read).on('end', leave).resume();
}
