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
