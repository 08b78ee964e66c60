import { X509Certificate } from 'node:crypto';
import type { AddressInfo, Socket } from 'node:net';
import { type ConnectionOptions, createServer, type Server, type TlsOptions, type TLSSocket } from 'node:tls';
import { reset } from '../../../../test/doubles/reset-socket';
import { TEST_CERTIFICATE } from '../../../../test/doubles/tls-certificate';
import { TEST_CHAIN } from '../../../../test/doubles/tls-chain';
import { hostileChain } from '../../../../test/factories/hostile-chain';
import { waitFor } from '../../../../test/setup/wait-for';
import { tlsOptionsFor } from './smtp-endpoint';
import { SmtpWire, type TlsProof } from './smtp-wire';

const LONG = 60;
const TLS12 = 'TLSv1.2';
/** After a handshake of TLS 1.3. */
const TICKETS = 2;
const ENDPOINT = { address: '127.0.0.1', port: 25, hostName: 'mx.example.org', verifyCertificate: false };
const derOf = (pem: string) => new X509Certificate(pem).raw;

describe('a wire with TLS', () => {
  const wires: SmtpWire[] = [];
  let server: Server;
  let below: Socket | undefined;
  let above: TLSSocket | undefined;
  let tickets: Buffer[];

  async function serve(options: TlsOptions = {}): Promise<void> {
    server = createServer({ key: TEST_CERTIFICATE.key, cert: TEST_CERTIFICATE.cert, ...options });
    server.on('connection', (socket: Socket) => (below = socket.on('error', () => undefined)));
    server.on('secureConnection', (socket) => (above = socket.on('error', () => undefined).resume()));
    server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1');
    await waitFor(() => server.listening, { what: 'the server' });
  }

  /** A wire that has asked for TLS, and what came of it. */
  async function encrypted(options: ConnectionOptions = { rejectUnauthorized: false }) {
    const wire = new SmtpWire(() => undefined);
    wires.push(wire);
    expect(await wire.connect('127.0.0.1', (server.address() as AddressInfo).port, LONG)).toBeUndefined();
    const fault = await wire.encrypt(options, 'holder', LONG, (ticket) => tickets.push(ticket));
    return { wire, fault };
  }

  async function expectReset(wire: SmtpWire): Promise<void> {
    // What comes together with a reset is read, and then an end: Node does not see the reset.
    const isQuiet = () => above !== undefined && tickets.length === TICKETS;
    await waitFor(isQuiet, { what: 'the other side, and its tickets' });
    const reply = wire.reply(LONG);
    reset(above as TLSSocket);
    expect(await reply).toMatchObject({ cause: 'reset' });
  }

  beforeEach(() => {
    [below, above, tickets] = [undefined, undefined, []];
  });
  afterEach(() => {
    for (const wire of wires.splice(0)) wire.destroy();
    below?.destroy();
    server.close();
  });

  it('shows the certificates of the other side, the leaf first, and that they prove the host', async () => {
    await serve({ key: TEST_CHAIN.key, cert: `${TEST_CHAIN.cert}\n${TEST_CHAIN.authority}` });
    const { wire } = await encrypted({ ca: TEST_CHAIN.authority, servername: TEST_CHAIN.hostName });
    expect(wire.peerChain()).toEqual([TEST_CHAIN.cert, TEST_CHAIN.authority].map(derOf));
    expect(wire.encryption()).toEqual({ version: 'TLSv1.3', cipher: 'TLS_AES_256_GCM_SHA384', verified: true });
  });

  it('shows none without TLS', async () => {
    await serve();
    const wire = new SmtpWire(() => undefined);
    wires.push(wire);
    expect(wire.peerChain()).toEqual([]);
    await wire.connect('127.0.0.1', (server.address() as AddressInfo).port, LONG);
    expect(wire.peerChain()).toEqual([]);
  });

  it('is encrypted with nothing when the handshake has failed', async () => {
    await serve();
    const { wire, fault } = await encrypted({});
    expect(fault).toMatchObject({ cause: 'tls', tlsFault: 'certificate-not-trusted' });
    expect(wire.encryption()).toBeUndefined();
  });

  it.each([
    [TLS12, /^TLS_ECDHE_ECDSA_WITH_/],
    ['TLSv1.3', /^TLS_AES_/],
  ] as const)('names what %s encrypts with as the standards do, and is given a session', async (maxVersion, cipher) => {
    await serve({ maxVersion });
    const { wire } = await encrypted();
    expect(wire.encryption()).toMatchObject({ version: maxVersion, cipher: expect.stringMatching(cipher) });
    await waitFor(() => tickets.length > 0, { what: 'a session' });
    expect(tickets.every((ticket) => ticket.length > 0)).toBe(true);
  });

  it('is given no session of a certificate that it does not trust', async () => {
    await serve({ maxVersion: TLS12 });
    const { fault } = await encrypted({});
    expect(fault).toMatchObject({ cause: 'tls' });
    // One that came before the fault would be given in the next turn.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(tickets).toEqual([]);
  });

  it('continues a session with the proof of its handshake, and proves a new one by itself', async () => {
    await serve();
    const earlier: TlsProof = { verified: true };
    const first = await encrypted();
    expect(first.wire.encryption(earlier)).toMatchObject({ verified: false, fault: 'certificate-not-trusted' });
    const session = await waitFor(() => tickets[0], { what: 'a session' });
    const next = await encrypted({ rejectUnauthorized: false, session });
    expect(next.wire.encryption(earlier)).toMatchObject({ verified: true });
    expect(next.wire.encryption()).toMatchObject({ verified: false });
  });

  it('refuses a handshake of more than 24 KiB before any certificate is checked', async () => {
    await serve(hostileChain(20));
    const { wire, fault } = await encrypted();
    expect(fault).toMatchObject({ cause: 'tls', detail: expect.stringContaining('24576 bytes') });
    expect(wire.isSecure).toBe(false);
  });

  it.each([
    ['taken', { rejectUnauthorized: false }],
    ['refused', {}],
  ])('measures the check of a costly chain that is %s', async (_, options) => {
    await serve(hostileChain(4));
    const { wire, fault } = await encrypted(options);
    expect(fault === undefined).toBe('rejectUnauthorized' in options);
    // Each of the four takes some 8 ms.
    expect(wire.handshakeMs).toBeGreaterThan(8);
  });

  it('receives what comes after a handshake, in the order in which it comes', async () => {
    await serve({ key: TEST_CHAIN.key, cert: `${TEST_CHAIN.cert}\n${TEST_CHAIN.authority}` });
    const { wire } = await encrypted({ ca: TEST_CHAIN.authority, servername: TEST_CHAIN.hostName });
    expect(wire.encryption()).toMatchObject({ verified: true });
    const server = await waitFor(() => above, { what: 'the other side' });
    for (let due = 0; due < 40; due += 1) wire.expectBanner();
    // More than the handshake may have.
    server.write(Array.from({ length: 40 }, (_, at) => `250 ${at} ${'x'.repeat(700)}\r\n`).join(''));
    for (let due = 0; due < 40; due += 1) {
      expect(await wire.reply(LONG)).toMatchObject({ code: 250, lines: [expect.stringMatching(`^${due} x`)] });
    }
    server.end('421 closing\r\n');
    wire.expectBanner();
    expect(await wire.reply(LONG)).toMatchObject({ code: 421 });
    expect(await wire.reply(LONG)).toMatchObject({ cause: 'closed' });
  });

  it('reports a certificate that proves nothing, and a reset below TLS', async () => {
    await serve();
    const { wire } = await encrypted();
    await expectReset(wire);
    // Last: the server may or may not see the end of a handshake that the client has given up.
    expect((await encrypted({})).fault).toMatchObject({ tlsFault: 'certificate-not-trusted' });
  });

  it('shows no more certificates than are looked at', async () => {
    await serve(hostileChain(15));
    const { wire } = await encrypted();
    expect(wire.peerChain()).toHaveLength(10);
  });

  it('begins no second handshake for a server that asks for it', async () => {
    await serve({ maxVersion: TLS12 });
    const { wire } = await encrypted(tlsOptionsFor({ ...ENDPOINT, security: 'opportunistic' }));
    const server = await waitFor(() => above, { what: 'the other side' });
    server.renegotiate({}, () => undefined);
    await waitFor(() => wire.fault !== undefined, { what: 'the end of the connection' });
    expect(wire.fault).toMatchObject({ cause: 'tls' });
  });

  it('reports a reset below TLS, once', async () => {
    await serve();
    const { wire } = await encrypted();
    await expectReset(wire);
  });
});
