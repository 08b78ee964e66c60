import type { Socket } from 'node:net';
import { leaveTurns } from '../async/socket-turns';

const HANDSHAKE = 22;
/** Type, version and length of a record; type and length of a message; version and random of a ClientHello. */
const [RECORD_HEAD, MESSAGE_HEAD, HELLO_HEAD] = [5, 4, 34];
/** More than any ClientHello has. */
const MAX_BYTES = 64 * 1024;
/** Extensions, and the version in the first. */
const [SUPPORTED_VERSIONS, KEY_SHARE, TLS_1_3] = [43, 51, 0x0304];

/** Bytes in one buffer, doubled whenever it is full: a piece of one byte, kept as it came, takes hundreds. */
class Collected {
  private bytes = Buffer.alloc(0);
  length = 0;

  add(piece: Buffer): void {
    const needed = this.length + piece.length;
    if (needed > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.length));
      this.bytes.copy(larger, 0, 0, this.length);
      this.bytes = larger;
    }
    this.length += piece.copy(this.bytes, this.length);
  }

  all(): Buffer {
    return this.bytes.subarray(0, this.length);
  }
}

/**
 * Reads what a client of TLS sends first, in time that grows with the bytes, whatever pieces and records they are in (RFC 8446 sections 4
 * and 5.1).
 */
export class ClientHelloReader {
  private readonly content = new Collected();
  /** Bytes of the current record's head that have been read. */
  private headBytes = 0;
  /** Bytes of its content that are still to come. */
  private left = 0;
  /** The length of its content, as far as the head has been read. */
  private recordBytes = 0;
  private received = 0;
  /** Length of the message, known once its head has been read. */
  private neededBytes = Infinity;

  /** @returns `whole` with the last record of a ClientHello; `other` for what is none, or too large for one */
  read(bytes: Buffer): 'more' | 'whole' | 'other' {
    this.received += bytes.length;
    for (let at = 0; at < bytes.length && !this.isWhole();) {
      if (this.left > 0) at += this.readContent(bytes, at);
      else if (!this.readHead(bytes[at++] ?? 0)) return 'other';
    }
    if (this.received > MAX_BYTES) return 'other';
    return this.isWhole() ? 'whole' : 'more';
  }

  /**
   * Whether TLS 1.3 asks for a second ClientHello (HelloRetryRequest), since the first has no key of these groups: the signature is then made
   * with the second. True for what cannot be read as well.
   */
  needsRetry(groups: readonly number[]): boolean {
    try {
      const extensions = extensionsOf(this.content.all().subarray(MESSAGE_HEAD, this.neededBytes));
      if (!versionsOf(extensions.get(SUPPORTED_VERSIONS)).includes(TLS_1_3)) return false;
      return !sharesOf(extensions.get(KEY_SHARE)).some((group) => groups.includes(group));
    } catch {
      return true;
    }
  }

  private isWhole(): boolean {
    return this.left === 0 && this.content.length >= this.neededBytes;
  }

  /** @returns false for the type of another record */
  private readHead(byte: number): boolean {
    if (this.headBytes === 0 && byte !== HANDSHAKE) return false;
    if (this.headBytes === RECORD_HEAD - 2) this.recordBytes = byte << 8;
    this.headBytes += 1;
    if (this.headBytes < RECORD_HEAD) return true;
    this.left = this.recordBytes + byte;
    this.headBytes = 0;
    return true;
  }

  private readContent(bytes: Buffer, at: number): number {
    const part = bytes.subarray(at, at + this.left);
    this.left -= part.length;
    this.content.add(part);
    if (this.neededBytes === Infinity && this.content.length >= MESSAGE_HEAD) {
      this.neededBytes = MESSAGE_HEAD + this.content.all().readUIntBE(1, 3);
    }
    return part.length;
  }
}

/** Content by type; the first of each. @throws RangeError for what ends early */
function extensionsOf(hello: Buffer): ReadonlyMap<number, Buffer> {
  let at = HELLO_HEAD;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  const extensions = new Map<number, Buffer>();
  // TLS 1.2 may have none.
  for (at += 2; at < hello.length;) {
    const [type, length] = [hello.readUInt16BE(at), hello.readUInt16BE(at + 2)];
    if (!extensions.has(type)) extensions.set(type, hello.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return extensions;
}

function versionsOf(list: Buffer = Buffer.of(0)): number[] {
  return Array.from({ length: list.readUInt8(0) >> 1 }, (_, index) => list.readUInt16BE(1 + 2 * index));
}

function sharesOf(list: Buffer | undefined): number[] {
  const groups: number[] = [];
  for (let at = 2; list && at < list.length; at += 4 + list.readUInt16BE(at + 2)) groups.push(list.readUInt16BE(at));
  return groups;
}

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
  const received = new Collected();
  const hello = new ClientHelloReader();
  let isWhole = false;
  const leave = (): void => void socket.destroy();
  const start = (): boolean => {
    if (socket.destroyed) return true;
    if (!leaveTurns(socket)) return false;
    socket.off('data', read).off('end', leave).pause();
    socket.unshift(received.all());
    begin();
    return true;
  };
  const read = (piece: Buffer): void => {
    received.add(piece);
    if (received.length > 2 * MAX_BYTES) return leave();
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
