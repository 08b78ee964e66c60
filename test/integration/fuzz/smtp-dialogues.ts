import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { newId } from '../../../src/common/ids';
import { SMTP_TIMEOUTS, type SmtpTimeouts } from '../../../src/delivery/smtp/conversation/smtp-timeouts';
import type { ServerDialogue, SmugglingDialogue } from '../../corpus/smtp-dialogues';
import { type ScriptedPeer, ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import type { RawSmtpClient } from '../inbound-smtp/raw-smtp-client';
import { endpointOf, send, SmtpClients } from '../smtp/smtp-client-kit';

const PATIENCE_MS = 60;
const REPLY_LINE = /^[2-5]\d\d(?:[ -].*)?$/;
/** What a fault of the server itself would look like. */
const INTERNAL = /internal|typeerror|undefined|\[object/i;

/** Says the pieces, each in a packet, whatever comes back; fails when that is not SMTP, or shows a fault of the server. */
export function talk(port: number, pieces: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let received = '';
    socket.setTimeout(2_000, () => socket.destroy());
    socket.once('data', () => void sayAll());
    socket.on('data', (chunk) => (received += chunk.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      const odd = received
        .split('\r\n')
        .slice(0, -1)
        .filter((line) => !REPLY_LINE.test(line) || INTERNAL.test(line));
      if (odd.length === 0 && received !== '') resolve();
      else reject(new Error(`The server says ${JSON.stringify(odd)} of ${JSON.stringify(received.slice(0, 500))}`));
    });
    const sayAll = async (): Promise<void> => {
      for (const piece of pieces) {
        socket.write(piece, 'latin1');
        await nextTurn();
      }
      socket.setTimeout(PATIENCE_MS);
    };
  });
}

/**
 * Sends a message that looks as if it ended earlier, in a session that is ready for MAIL; returns whether it was taken.
 * @throws when one of its lines has been taken for a command
 */
export async function smuggle(
  client: RawSmtpClient,
  recipient: string,
  { commands, message }: SmugglingDialogue,
): Promise<boolean> {
  try {
    const envelope = ['RSET', 'MAIL FROM:<>', `RCPT TO:<${recipient}>`, 'DATA'];
    const replies: string[] = [];
    for (const command of [...commands, ...envelope]) replies.push(await client.command(command));
    if (!replies.at(-1)?.startsWith('354')) throw new Error(`No message is wanted: ${replies.join(', ')}`);
    // The same message is kept once.
    for (const piece of [`X-Nonce: ${newId()}\r\n`, ...message]) {
      client.send(Buffer.from(piece, 'latin1'));
      await nextTurn();
    }
    const result = await client.reply();
    const next = await client.command('NOOP');
    if (!next.startsWith('250') || client.unread !== '') {
      throw new Error(`More than one reply to a message: ${JSON.stringify([result, next, client.unread])}`);
    }
    return result.startsWith('250');
  } finally {
    client.close();
  }
}

const TIMEOUTS = Object.fromEntries(Object.keys(SMTP_TIMEOUTS).map((phase) => [phase, 0.25])) as SmtpTimeouts;
const POSITIVE = /^(?:2\d\d-[^\n]*\n)*2\d\d(?: [^\n]*)?\r?\n/;

/** Delivers a message to a hostile server; fails when the result says more, or less, than the server did. */
export async function deliverTo(dialogue: ServerDialogue): Promise<string> {
  const play = new HostileReceiver(dialogue);
  const server = await ScriptedSmtpServer.start((peer) => play.run(peer));
  const clients = new SmtpClients();
  try {
    const connection = clients.connection(endpointOf(server.port), { timeouts: TIMEOUTS });
    const result = (await connection.open()) ?? (await send(connection));
    const { hasMessage, afterMessage, hasGranted, hasInjected } = play;
    const failures = {
      'delivered without a positive reply to its end':
        result.kind === 'accepted' && !(hasMessage && POSITIVE.test(afterMessage)),
      'delivered by injected replies': result.kind === 'accepted' && hasInjected,
      'to be repeated although it may have been taken': result.kind === 'failed' && hasMessage && !result.afterFinalDot,
      'sent unasked': !hasGranted && server.received.includes('Subject: hello'),
      'refused by nobody': result.kind === 'rejected' && result.reply.code < 400,
    };
    const failed = Object.entries(failures).flatMap(([name, holds]) => (holds ? [name] : []));
    if (failed.length > 0) throw new Error(`A mail is ${failed.join(', ')}: ${JSON.stringify(result)}`);
    return result.kind;
  } finally {
    clients.destroyAll();
    await server.stop();
  }
}

/** Plays the turns of a dialogue, then replies as usual. */
class HostileReceiver {
  /** The end of a message has come. */
  hasMessage = false;
  /** What has been written since. */
  afterMessage = '';
  /** A 354 has been written. */
  hasGranted = false;
  hasInjected = false;
  private readonly turns;

  constructor(private readonly dialogue: ServerDialogue) {
    this.turns = [...dialogue.turns];
  }

  async run(peer: ScriptedPeer): Promise<void> {
    let next = await this.say(peer, '220 hostile\r\n');
    while (next && !peer.clientIsGone) {
      const line = await peer.line();
      const wants = line.slice(0, 4).toUpperCase();
      if (wants === 'STAR') next = await this.encrypt(peer);
      else if (wants === 'DATA') next = await this.take(peer);
      else next = await this.say(peer, wants === 'EHLO' ? this.hello() : '250 ok\r\n');
    }
  }

  private hello(): string {
    const many = Array.from({ length: 2_000 }, (_, index) => `X-${index}`);
    const lines = ['hostile', ...this.dialogue.offers.flatMap((offer) => (offer === '\\MANY' ? many : [offer]))];
    return lines.map((line, index) => `250${index === lines.length - 1 ? ' ' : '-'}${line}\r\n`).join('');
  }

  private async encrypt(peer: ScriptedPeer): Promise<boolean> {
    const { injected } = this.dialogue;
    if (!(await this.say(peer, `220 go\r\n${injected}`))) return false;
    peer.encrypt();
    return true;
  }

  private async take(peer: ScriptedPeer): Promise<boolean> {
    if (!(await this.say(peer, '354 go\r\n'))) return false;
    if (!this.hasGranted) return true;
    await peer.until('\r\n.\r\n');
    this.hasMessage = true;
    return this.say(peer, '250 taken\r\n');
  }

  /** False: the connection has been ended. */
  private async say(peer: ScriptedPeer, usual: string): Promise<boolean> {
    const { pieces, closes } = this.turns.shift() ?? { pieces: ['\\OK'], closes: false };
    for (const piece of pieces.join('') === '\\OK' ? [usual] : pieces.map((text) => text.replace('\\OK', usual))) {
      if (this.hasMessage) this.afterMessage += piece;
      this.hasGranted ||= piece.includes('354');
      this.hasInjected ||= usual.startsWith('220 go') && this.dialogue.injected !== '' && piece === usual;
      await peer.sendPieces([piece]);
    }
    if (closes) peer.close();
    return !closes;
  }
}
