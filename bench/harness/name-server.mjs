import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import dnsPacket from 'dns-packet';

const TTL_SECONDS = 300;

/**
 * A resolver on loopback that returns one mail exchanger for each domain, `mx.` before its name, and the address of that.
 * @param addresses by domain
 * @returns as `DNS_SERVERS` has it
 */
export async function serveNames(addresses) {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  socket.on('message', (message, peer) => {
    const { id, questions } = dnsPacket.decode(message);
    const [{ name, type }] = questions;
    const domain = name.toLowerCase().replace(/^mx\./, '');
    const common = { type, name, ttl: TTL_SECONDS };
    const answers = [];
    if (type === 'MX') answers.push({ ...common, data: { preference: 10, exchange: `mx.${domain}` } });
    if (type === 'A' && name.startsWith('mx.')) answers.push({ ...common, data: addresses.get(domain) });
    const flags = dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE;
    socket.send(dnsPacket.encode({ type: 'response', id, flags, questions, answers }), peer.port, peer.address);
  });
  return `127.0.0.1:${socket.address().port}`;
}
