import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import dnsPacket from 'dns-packet';

const SERVFAIL = 2;
const TTL_SECONDS = 60;

/** A resolver on loopback with the receiving servers only; other names get no definite response. UDP only. */
export class Dns {
  #socket = createSocket('udp4');
  #addresses;

  constructor(destinations) {
    this.#addresses = new Map(destinations.map(({ domain, address }) => [domain, address]));
    this.#socket.on('message', (message, peer) => this.#socket.send(this.#reply(message), peer.port, peer.address));
  }

  async start() {
    this.#socket.bind(0, '127.0.0.1');
    await once(this.#socket, 'listening');
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  stop() {
    this.#socket.close();
  }

  #reply(message) {
    const { id, questions } = dnsPacket.decode(message);
    const [{ name, type }] = questions;
    const domain = name.toLowerCase();
    const address = this.#addresses.get(domain.replace(/^mx\./, ''));
    const answers = address === undefined ? [] : answersTo(type, domain, address);
    const flags = dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE | (address === undefined ? SERVFAIL : 0);
    return dnsPacket.encode({ type: 'response', id, flags, questions, answers });
  }
}

function answersTo(type, name, address) {
  const common = { type, name, ttl: TTL_SECONDS };
  if (type === 'MX') return [{ ...common, data: { preference: 10, exchange: `mx.${name}` } }];
  return type === 'A' && name.startsWith('mx.') ? [{ ...common, data: address }] : [];
}
