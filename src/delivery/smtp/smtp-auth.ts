import { isLoopback } from './smtp-endpoint';
import type { SmtpCredentials } from './smtp-endpoint';
import { isNegative } from './smtp-reply';
import type { SmtpReply } from './smtp-reply';
import type { SmtpRefusal } from './smtp-result';
import { isFault } from './smtp-session';
import type { SmtpSession } from './smtp-session';
import type { WireFault } from './wire-fault';

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
  if (offered.has('PLAIN')) return conclude(session, await authPlain(session, auth));
  if (offered.has('LOGIN')) return conclude(session, await authLogin(session, auth));
  return session.failed('auth', { cause: 'unsupported', detail: 'The server offers neither AUTH PLAIN nor LOGIN' });
}

function authPlain(session: SmtpSession, auth: SmtpCredentials): Promise<SmtpReply | WireFault> {
  return session.command('auth', `AUTH PLAIN ${base64(`\0${auth.user}\0${auth.password}`)}`);
}

async function authLogin(session: SmtpSession, auth: SmtpCredentials): Promise<SmtpReply | WireFault> {
  let outcome = await session.command('auth', 'AUTH LOGIN');
  for (const answer of [auth.user, auth.password]) {
    if (isFault(outcome) || outcome.code !== 334) return outcome;
    outcome = await session.command('auth', base64(answer));
  }
  return outcome;
}

function conclude(session: SmtpSession, outcome: SmtpReply | WireFault): SmtpRefusal | undefined {
  if (isFault(outcome)) return session.failed('auth', outcome);
  if (outcome.code === 235) return undefined;
  return isNegative(outcome) ? session.rejected('auth', outcome) : session.confused('auth', outcome);
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
