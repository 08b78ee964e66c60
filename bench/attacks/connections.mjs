import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Client addresses in use: each one is another client to the product. */
const CLIENTS = 40;
const CONNECTED_AT_ONCE = 100;

/** Connections to `port` from many client addresses; those that are refused are left out. */
export async function openConnections(port, count) {
  const opened = [];
  for (let index = 0; index < count; index += CONNECTED_AT_ONCE) {
    const some = Math.min(CONNECTED_AT_ONCE, count - index);
    opened.push(...(await Promise.all(Array.from({ length: some }, (_, place) => open(port, index + place)))));
  }
  return opened.filter((socket) => socket !== undefined);
}

function open(port, index) {
  return new Promise((resolve) => {
    const localAddress = `127.40.${index % CLIENTS}.1`;
    const socket = connect({ port, host: '127.0.0.1', localAddress }, () => resolve(socket));
    socket.on('error', () => resolve(undefined));
    socket.resume();
  });
}

export function close(sockets) {
  for (const socket of sockets) socket.destroy();
}

/** The product receives what happens in `work` in one turn of its event loop. */
export async function whilePaused({ pid }, work) {
  process.kill(pid, 'SIGSTOP');
  try {
    await work();
    // For the last bytes to reach the product's sockets.
    await delay(300);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}

const writeAll = (sockets, text) => {
  for (const socket of sockets) socket.write(text);
};

const REQUEST = 'GET /v1/emails HTTP/1.1\r\nHost: waybill\r\n\r\n';

/** HTTP connections that all act at the same moment: `{name, act(sockets)}`. */
export const CONNECTION_ATTACKS = [
  { name: 'send a request', act: (sockets) => writeAll(sockets, REQUEST) },
  { name: 'send ten pipelined requests', act: (sockets) => writeAll(sockets, REQUEST.repeat(10)) },
  { name: 'send a part of a request line', act: (sockets) => writeAll(sockets, 'GE') },
  { name: 'send no HTTP', act: (sockets) => writeAll(sockets, '\0\0\0\r\n\r\n') },
  { name: 'are reset', act: (sockets) => sockets.forEach((socket) => socket.resetAndDestroy()) },
  { name: 'end', act: (sockets) => sockets.forEach((socket) => socket.end()) },
  {
    name: 'are reset in a request head',
    prepare: (sockets) => writeAll(sockets, REQUEST.slice(0, -2)),
    act: (sockets) => sockets.forEach((socket) => socket.resetAndDestroy()),
  },
  {
    name: 'end in a request head',
    prepare: (sockets) => writeAll(sockets, REQUEST.slice(0, -2)),
    act: (sockets) => sockets.forEach((socket) => socket.end()),
  },
  {
    name: 'are reset in a request body',
    prepare: (sockets, key) =>
      writeAll(
        sockets,
        `POST /v1/emails HTTP/1.1\r\nHost: w\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`,
      ),
    act: (sockets) => sockets.forEach((socket) => socket.resetAndDestroy()),
  },
];
