import { createServer, type AddressInfo, type Socket } from 'node:net';
import { waitFor } from '../../../../test/setup/wait-for';
import { CLIENT_HANDSHAKES } from '../../../common/tls/client-handshakes';
import { SmtpConnection } from './smtp-connection';
import { authenticate } from './smtp-handshake';
import { NO_CAPABILITIES } from './smtp-envelope';
import type { SmtpReply } from './smtp-reply';
import { SmtpSession } from './smtp-session';
import { SMTP_TIMEOUTS } from './smtp-timeouts';
import { SmtpWire } from './smtp-wire';

const AUTH = { user: 'relay', password: 'secret \u00fc' };

/** A session on a wire that is not connected: notes what is written and answers from a list. */
function sessionWith(options: { address: string; isSecure?: boolean; mechanisms?: string[]; codes?: number[] }): {
  session: SmtpSession;
  written: string[];
} {
  const wire = new SmtpWire(() => undefined);
  const written: string[] = [];
  const replies: SmtpReply[] = (options.codes ?? []).map((code) => ({ code, lines: [''] }));
  Object.defineProperties(wire, {
    remoteAddress: { value: options.address },
    isSecure: { value: options.isSecure ?? false },
    write: { value: (data: string) => void written.push(data) },
    reply: { value: () => Promise.resolve(replies.shift() ?? { cause: 'closed', detail: '' }) },
  });
  const endpoint = {
    address: '',
    port: 25,
    hostName: 'mx',
    security: 'none',
    verifyCertificate: false,
    auth: AUTH,
  } as const;
  const session = new SmtpSession(endpoint, 'a.example', SMTP_TIMEOUTS, wire);
  session.capabilities = { ...NO_CAPABILITIES, authMechanisms: new Set(options.mechanisms ?? ['PLAIN', 'LOGIN']) };
  return { session, written };
}

describe('authenticate', () => {
  it('sends no credentials in plaintext to another machine', async () => {
    const { session, written } = sessionWith({ address: '192.0.2.1' });
    expect(await authenticate(session)).toMatchObject({ kind: 'failed', phase: 'auth', cause: 'insecure' });
    expect(written).toEqual([]);
  });

  it.each([
    ['over TLS', { address: '192.0.2.1', isSecure: true }],
    ['to this machine', { address: '127.0.0.1' }],
  ])('sends them %s', async (_case, where) => {
    const { session, written } = sessionWith({ ...where, codes: [235] });
    expect(await authenticate(session)).toBeUndefined();
    const initial = Buffer.from('\0relay\0secret \u00fc').toString('base64');
    expect(written).toEqual([`AUTH PLAIN ${initial}\r\n`]);
  });

  it('falls back to LOGIN', async () => {
    const { session, written } = sessionWith({ address: '::1', mechanisms: ['LOGIN'], codes: [334, 334, 235] });
    expect(await authenticate(session)).toBeUndefined();
    const [user, password] = [AUTH.user, AUTH.password].map((text) => Buffer.from(text).toString('base64'));
    expect(written).toEqual(['AUTH LOGIN\r\n', `${user}\r\n`, `${password}\r\n`]);
  });

  it.each([
    ['a refusal', [535], { kind: 'rejected', phase: 'auth' }],
    ['a refusal that may pass', [454], { kind: 'rejected', phase: 'auth' }],
    ['an unexpected challenge', [334], { kind: 'failed', cause: 'protocol', phase: 'auth' }],
    ['a success of another kind', [250], { kind: 'failed', cause: 'protocol', phase: 'auth' }],
    ['silence', [], { kind: 'failed', cause: 'closed', phase: 'auth' }],
  ])('reports %s', async (_case, codes, expected) => {
    const { session } = sessionWith({ address: '127.0.0.1', codes });
    const refusal = await authenticate(session);
    expect(refusal).toMatchObject(expected);
    expect(JSON.stringify(refusal)).not.toContain('secret');
  });

  it('reports a user refused by LOGIN without sending the password', async () => {
    const { session, written } = sessionWith({ address: '127.0.0.1', mechanisms: ['LOGIN'], codes: [334, 535] });
    expect(await authenticate(session)).toMatchObject({ kind: 'rejected', phase: 'auth' });
    expect(written).toHaveLength(2);
  });

  it('reports that no known mechanism is offered', async () => {
    const { session } = sessionWith({ address: '127.0.0.1', mechanisms: ['GSSAPI'] });
    expect(await authenticate(session)).toMatchObject({ kind: 'failed', phase: 'auth', cause: 'unsupported' });
  });
});

describe('the turn of a TLS handshake', () => {
  const REPLIES = { EHLO: '250-mx\r\n250 STARTTLS', STARTTLS: '220 go ahead' } as const;
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    if (isGreeting) socket.write('220 mx\r\n');
    socket.on('data', (data) => {
      const verb = data.toString().split(/[ \r]/, 1)[0] as keyof typeof REPLIES;
      socket.write(`${REPLIES[verb]}\r\n`);
      if (verb === 'STARTTLS') upgrading.push(socket);
    });
  });
  let isGreeting = true;
  const sockets: Socket[] = [];
  const upgrading: Socket[] = [];

  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => new Promise((resolve) => server.close(resolve)));
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    upgrading.length = 0;
  });

  /** A connection of someone whose last handshake has cost so much that the next one waits for hours. */
  async function waiting(holder: string, tls: number, security: 'opportunistic' | 'implicit' = 'opportunistic') {
    const costly = await CLIENT_HANDSHAKES.begin({ holder, giveUp: () => undefined });
    costly.end(3_600_000);
    const { port } = server.address() as AddressInfo;
    isGreeting = security !== 'implicit';
    const endpoint = { address: '127.0.0.1', port, hostName: 'mx', verifyCertificate: false } as const;
    const options = { heloName: 'a.example', holder, timeouts: { tls } };
    const connection = new SmtpConnection({ ...endpoint, security }, options);
    return { connection, opened: connection.open() };
  }

  it('is waited for no longer than a handshake, and then shows nothing about the server', async () => {
    const { opened } = await waiting('turn: late', 0.05, 'implicit');
    const detail = 'The TLS handshake waited too long for its turn on this side';
    expect(await opened).toMatchObject({ kind: 'failed', phase: 'tls', cause: 'cut-short', detail });
  });

  it('is given up when the server closes, and with the connection', async () => {
    const { opened } = await waiting('turn: closed', 60);
    await waitFor(() => upgrading.length === 1, { what: 'STARTTLS' });
    upgrading[0]?.end();
    const refusal = await opened;
    expect(refusal).toMatchObject({ cause: 'cut-short', detail: 'The server closed the connection' });
    expect(refusal).not.toHaveProperty('mayRetryInPlaintext');
    const { connection, opened: destroyed } = await waiting('turn: destroyed', 60);
    await waitFor(() => upgrading.length === 2, { what: 'STARTTLS' });
    connection.destroy();
    expect(await destroyed).toMatchObject({ cause: 'aborted' });
  });

  it('counts as waiting, and ends when other mail needs the slot', async () => {
    const { connection, opened } = await waiting('turn: silent', 60);
    await waitFor(() => upgrading.length === 1 && connection.silentMs > 0, { what: 'the wait' });
    connection.cutShort();
    expect(await opened).toMatchObject({ cause: 'cut-short' });
  });
});
