import { isLoopback } from '../../../common/dns/public-address';
import { CLIENT_HANDSHAKES, type ClientHandshake } from '../../../common/tls/client-handshakes';
import type { SmtpPhase, TlsPolicy } from '../../ports/attempt-trace';
import { NO_CAPABILITIES, readCapabilities } from './smtp-envelope';
import { allowsPlaintext, policyOf, type SmtpCredentials, tlsOptionsFor } from './smtp-endpoint';
import { isNegative, isPositive, type SmtpReply } from './smtp-reply';
import type { SmtpFailed, SmtpFailureCause, SmtpRefusal, WireFault } from './smtp-result';
import { isFault, type SmtpSession } from './smtp-session';
import { proofByTlsa, type TlsaDemand } from './tlsa';

/**
 * From nothing to a session that can take MAIL: connect → (implicit TLS) → banner → EHLO, else HELO → (STARTTLS → EHLO again) →
 * (AUTH) → ready. Returns nothing when ready; at the first refusal the connection is closed and the refusal returned.
 */
export async function openSession(session: SmtpSession): Promise<SmtpRefusal | undefined> {
  session.timer.restart();
  for (const [phase, step] of STEPS) {
    const refusal = await step(session);
    if (refusal !== undefined) {
      session.wire.destroy();
      return refusal;
    }
    session.timer.end(phase === 'tls' && !session.wire.isSecure ? 'greeting' : phase);
  }
  return undefined;
}

const STEPS = [
  ['connect', connect],
  ['greeting', greet],
  ['greeting', sayHello],
  ['tls', upgrade],
  ['greeting', authenticate],
] as const;

async function connect(session: SmtpSession): Promise<SmtpRefusal | undefined> {
  const { endpoint, timeouts, wire } = session;
  const fault = await wire.connect(endpoint.address, endpoint.port, timeouts.connect, endpoint.source?.address);
  if (fault !== undefined) return session.failed('connect', fault);
  return endpoint.security === 'implicit' ? encrypt(session) : undefined;
}

async function greet(session: SmtpSession): Promise<SmtpRefusal | undefined> {
  session.wire.expectBanner();
  return unlessPositive(session, 'greeting', await session.reply('greeting'));
}

/** EHLO, and HELO for servers that do not support it (RFC 5321 section 3.2). */
async function sayHello(session: SmtpSession): Promise<SmtpRefusal | undefined> {
  session.capabilities = NO_CAPABILITIES;
  const reply = await session.command('greeting', `EHLO ${session.heloName}`);
  if (isFault(reply) || reply.code < 500) {
    const refusal = unlessPositive(session, 'greeting', reply);
    if (refusal === undefined && !isFault(reply)) session.capabilities = readCapabilities(reply);
    return refusal;
  }
  const second = await session.command('greeting', `HELO ${session.heloName}`);
  // A server that hangs up after refusing EHLO has given the reason at EHLO.
  return isFault(second) ? session.rejected('greeting', reply) : unlessPositive(session, 'greeting', second);
}

/** STARTTLS (RFC 3207) as the endpoint's security demands. */
async function upgrade(session: SmtpSession): Promise<SmtpRefusal | undefined> {
  const { security } = session.endpoint;
  if (security === 'none' || security === 'implicit') return undefined;
  if (!session.capabilities.startTls) {
    if (security === 'opportunistic') return undefined;
    const detail = 'TLS is required and the server does not offer it';
    return starttlsFailed(session, { cause: 'tls', detail, tlsFault: 'starttls-not-supported' });
  }
  const reply = await session.command('tls', 'STARTTLS');
  if (isFault(reply)) return starttlsFailed(session, reply);
  if (reply.code === 421) return session.rejected('tls', reply);
  if (!isPositive(reply)) {
    return starttlsFailed(session, { cause: 'tls', detail: 'The server refused STARTTLS' }, reply);
  }
  // Section 4.2: earlier capabilities are void. Plaintext after the 220 is a fault of the wire at this point.
  return (await encrypt(session)) ?? sayHelloEncrypted(session);
}

/** With TLS 1.3 this side is done before the server has checked its part, so that a refusal shows only now. */
async function sayHelloEncrypted(session: SmtpSession): Promise<SmtpRefusal | undefined> {
  const refusal = await sayHello(session);
  if (refusal?.kind !== 'failed' || !LATE_TLS_CAUSES.has(refusal.cause)) return refusal;
  const { cause, detail } = refusal;
  // A server that only hangs up may have other reasons.
  const { security } = session.endpoint;
  return cause === 'tls' || security === 'opportunistic' ? starttlsFailed(session, { cause, detail }) : refusal;
}

async function encrypt(session: SmtpSession): Promise<SmtpRefusal | undefined> {
  const { endpoint, wire } = session;
  // A session that is continued shows no chain to compare with TLSA records.
  const tlsSessions = endpoint.tlsa ? undefined : session.tlsSessions;
  const earlier = tlsSessions?.find(endpoint);
  const options = { ...tlsOptionsFor(endpoint), ...(earlier && { session: earlier.ticket }) };
  const { holder } = session;
  const handshake = await placeOf(session);
  if ('cause' in handshake) return starttlsFailed(session, handshake);
  const keep = (ticket: Buffer) => tlsSessions?.keep(endpoint, { ticket, ...session.proof });
  const fault = await wire
    .encrypt(options, holder, session.timeouts.tls, keep)
    .finally(() => handshake.end(wire.handshakeMs));
  if (fault !== undefined) {
    // It may have been the session: the next handshake is a whole one.
    tlsSessions?.forget(endpoint);
    return starttlsFailed(session, fault);
  }
  session.noteEncryption(wire.encryption(earlier && { verified: earlier.verified, fault: earlier.fault }));
  return endpoint.tlsa && proveByTlsa(session, endpoint.tlsa);
}

const WAITED_TOO_LONG: WireFault = {
  cause: 'cut-short',
  detail: 'The TLS handshake waited too long for its turn on this side',
};

/** What a server does that waits for this side; it shows nothing about its TLS. */
const IMPATIENCE: ReadonlySet<SmtpFailureCause> = new Set(['closed', 'reset']);

/** Of the shares of handshakes. */
async function placeOf({ holder, wire, timeouts }: SmtpSession): Promise<ClientHandshake | WireFault> {
  const giveUp = () => wire.destroy();
  const earlier = wire.fault;
  const begin = (signal: AbortSignal) => CLIENT_HANDSHAKES.begin({ holder, giveUp, signal });
  const place = await wire.whileOpen(begin, timeouts.tls, WAITED_TOO_LONG);
  if (earlier !== undefined || !('cause' in place) || !IMPATIENCE.has(place.cause)) return place;
  return { cause: WAITED_TOO_LONG.cause, detail: place.detail };
}

/** Without a record that can be used nothing is proven, and nothing need be. */
function proveByTlsa(session: SmtpSession, tlsa: TlsaDemand): SmtpRefusal | undefined {
  const isAnyone = tlsa.records.length === 0;
  const proof = isAnyone ? undefined : proofByTlsa(tlsa, session.wire.peerChain(), new Date());
  session.noteProof(proof);
  if (isAnyone || proof !== undefined) return undefined;
  const detail = `the certificate is none of those in the records of ${tlsa.baseDomain}`;
  return starttlsFailed(session, { cause: 'tls', detail });
}

/**
 * What shows that encryption does not work there, unlike an abort on this side. Injected bytes are among it: an attacker who
 * can inject them can also remove STARTTLS from the offer, and none of them is ever read.
 */
const BROKEN_TLS_CAUSES: ReadonlySet<SmtpFailureCause> = new Set(['tls', 'protocol', 'closed', 'reset', 'timeout']);
/** After the handshake; silence then is no longer about encryption. */
const LATE_TLS_CAUSES: ReadonlySet<SmtpFailureCause> = new Set(['tls', 'closed', 'reset']);

const DEMANDS: Readonly<Record<TlsPolicy, string>> = {
  none: 'This connection must be encrypted',
  opportunistic: 'This connection must be encrypted',
  required: 'Encryption is required of this mail',
  'mta-sts': "The domain's MTA-STS policy asks for encryption that proves the host",
  dane: "The host's TLSA records (DANE) ask for encryption as they say",
};

function starttlsFailed(session: SmtpSession, fault: WireFault, reply?: SmtpReply): SmtpFailed {
  const { security } = session.endpoint;
  const isOfServer = BROKEN_TLS_CAUSES.has(fault.cause);
  const mayRetry = isOfServer && allowsPlaintext(session.endpoint);
  const policy = policyOf(session.endpoint);
  return session.failed('tls', fault, {
    ...(reply && { reply }),
    ...(mayRetry && { mayRetryInPlaintext: true }),
    ...(isOfServer &&
      security === 'starttls' && {
        detail: `${DEMANDS[policy]}: ${fault.detail}`,
        heldBackBy: policy,
        tlsFault: fault.tlsFault ?? 'validation-failure',
      }),
  });
}

/** Nothing for 2xx, otherwise what the reply or fault means for the connection. */
function unlessPositive(session: SmtpSession, phase: SmtpPhase, reply: SmtpReply | WireFault): SmtpRefusal | undefined {
  if (isFault(reply)) return session.failed(phase, reply);
  if (isPositive(reply)) return undefined;
  return isNegative(reply) ? session.rejected(phase, reply) : session.confused(phase, reply);
}

/**
 * Logs in (RFC 4954) when the endpoint has credentials: PLAIN (RFC 4616), or LOGIN where only that is offered.
 * Credentials leave this process only over TLS or to this machine.
 */
export async function authenticate(session: SmtpSession): Promise<SmtpRefusal | undefined> {
  const { auth } = session.endpoint;
  if (auth === undefined) return undefined;
  if (!session.wire.isSecure && !isLoopback(session.wire.remoteAddress)) {
    return session.failed('auth', { cause: 'insecure', detail: 'Credentials are not sent without TLS' });
  }
  const offered = session.capabilities.authMechanisms;
  if (offered.has('PLAIN')) return refusalOfLogin(session, await authPlain(session, auth));
  if (offered.has('LOGIN')) return refusalOfLogin(session, await authLogin(session, auth));
  return session.failed('auth', { cause: 'unsupported', detail: 'The server offers neither AUTH PLAIN nor LOGIN' });
}

function authPlain(session: SmtpSession, auth: SmtpCredentials): Promise<SmtpReply | WireFault> {
  return session.command('auth', `AUTH PLAIN ${base64(`\0${auth.user}\0${auth.password}`)}`);
}

async function authLogin(session: SmtpSession, auth: SmtpCredentials): Promise<SmtpReply | WireFault> {
  let outcome = await session.command('auth', 'AUTH LOGIN');
  for (const credential of [auth.user, auth.password]) {
    if (isFault(outcome) || outcome.code !== 334) return outcome;
    outcome = await session.command('auth', base64(credential));
  }
  return outcome;
}

function refusalOfLogin(session: SmtpSession, outcome: SmtpReply | WireFault): SmtpRefusal | undefined {
  if (isFault(outcome)) return session.failed('auth', outcome);
  if (outcome.code === 235) return undefined;
  return isNegative(outcome) ? session.rejected('auth', outcome) : session.confused('auth', outcome);
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
