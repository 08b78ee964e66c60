import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

/** A turn of the event loop that takes less has served nothing, so that hardly anything can have come in it unseen. */
const QUIET_MS = 0.25;
/** Connections may come without end. */
const LONGEST_MS = 500;
/** The system keeps up to 511 (Node's backlog), and a turn may take one: a machine that stands still meanwhile must not end the wait. */
const LEAST_TURNS = 512;

/**
 * Closes the port; open connections stay. The system resets connections that it has made and the process has not accepted, and a proxy
 * may not send their requests again. Therefore it first takes what has come.
 */
export async function stopListening(server: Server): Promise<void> {
  await takeWhatCame(server);
  // That of HTTP also ends connections whose request it has not read yet.
  NetServer.prototype.close.call(server);
}

/**
 * Ends open connections that have no request. One that has come and is not read yet counts as none, and the system would reset its
 * connection: timers go before reading, above all after a halt. Therefore it is read first.
 */
export async function endIdleConnections(server: Server): Promise<void> {
  await takeWhatCame(server);
  server.closeIdleConnections();
}

/** Waits until a turn of the event loop brings nothing; `setImmediate` follows the reading. */
async function takeWhatCame(server: Server): Promise<void> {
  let came = 0;
  const count = (): void => void (came += 1);
  server.on('connection', count);
  const startedMs = performance.now();
  // The first turn may end before anything is read in it.
  await turn();
  const mayGoOn = (turns: number): boolean => turns < LEAST_TURNS || performance.now() - startedMs < LONGEST_MS;
  for (let isQuiet = false, turns = 0; !isQuiet && mayGoOn(turns); turns += 1) {
    const [before, beganMs] = [came, performance.now()];
    await turn();
    isQuiet = came === before && performance.now() - beganMs < QUIET_MS;
  }
  server.off('connection', count);
}
