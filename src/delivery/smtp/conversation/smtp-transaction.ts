import type { SmtpPhase } from '../../ports/attempt-trace';
import { finalDot, withFinalDot } from './dot-stuffing';
import { mailCommand, rcptCommand, type SmtpEnvelope } from './smtp-envelope';
import { isNegative, isPositive } from './smtp-reply';
import type { SmtpReply } from './smtp-reply';
import { type SmtpFailed, type SmtpRejected, type SmtpResult, ABORTED, type WireFault } from './smtp-result';
import { isFault, type SmtpSession } from './smtp-session';
import { BLOCK_BYTES } from './smtp-timeouts';

/** What the caller decides during a transaction. */
export interface SmtpHooks {
  /**
   * Asked right before the bytes that make the message the receiver's. False: they are not written and the connection
   * is destroyed, so the message has certainly not been delivered by it.
   */
  beforeFinalDot(): boolean;
  /** Asked when the server has replied: undefined to go on at once. @param isOver after the final reply, which is not noted yet */
  nextTurn?(isOver: boolean): Promise<void> | undefined;
}

/**
 * Up to this size message and final dot are one write after the 354. A larger message is written first and the hook is called
 * when it is out: that can take minutes, and a server that hangs up in between cannot have taken it.
 */
const ONE_WRITE_BYTES = 32_768;
const ENVELOPE_PHASES = ['mail', 'rcpt', 'data'] as const;
const START_MAIL_INPUT = 354;

/**
 * One message to one recipient: mail → rcpt → data → final → done.
 *
 * With PIPELINING (RFC 2920) the three commands go in one write and their three replies are read in order; without, each
 * waits for the one before. A refusal at any of them leads through RSET back to an idle session, for which the result does not wait
 * (`SmtpSession.leaving`); a fault, a 421 or a reply without meaning ends the connection.
 *
 * @param stuffed the message after dot-stuffing.
 */
export async function runTransaction(
  session: SmtpSession,
  envelope: SmtpEnvelope,
  stuffed: Buffer,
  hooks: SmtpHooks,
): Promise<SmtpResult> {
  const refusal = await announce(session, envelope);
  await hooks.nextTurn?.(false);
  if (refusal !== undefined) return refusal;
  // The server may have sent more than the 354, or closed.
  if (session.wire.fault !== undefined) return session.failed('data', session.wire.fault);
  const { length } = stuffed;
  const isSmall = length <= ONE_WRITE_BYTES;
  const result = await (isSmall ? sendAtOnce(session, stuffed, hooks) : sendInBlocks(session, stuffed, hooks));
  await hooks.nextTurn?.(true);
  return result;
}

type Refusal = SmtpRejected | SmtpFailed;

/** MAIL, RCPT and DATA; nothing when all three are granted. */
function announce(session: SmtpSession, envelope: SmtpEnvelope): Promise<Refusal | undefined> {
  const { capabilities } = session;
  const commands = [mailCommand(envelope, capabilities), rcptCommand(envelope, capabilities), 'DATA\r\n'];
  const encoding = envelope.smtpUtf8 ? 'utf8' : 'latin1';
  return capabilities.pipelining
    ? announcePipelined(session, commands, encoding)
    : announceStepwise(session, commands, encoding);
}

/** All three replies are read, whatever they are: each is due. After a fault the rest are that fault again. */
async function announcePipelined(
  session: SmtpSession,
  commands: readonly string[],
  encoding: 'latin1' | 'utf8',
): Promise<Refusal | undefined> {
  session.wire.write(commands.join(''), commands.length, encoding);
  const mail = granted(session, 'mail', await session.reply('mail'));
  // Most servers reply to all three at once.
  const rcpt = granted(session, 'rcpt', session.wire.takeReply() ?? (await session.reply('rcpt')));
  const data = granted(session, 'data', session.wire.takeReply() ?? (await session.reply('data')));
  const first = mail ?? rcpt ?? data;
  const isDataOpen = data === undefined;
  // A recipient without a sender makes no sense, and the lone dot would send it an empty message.
  if (isDataOpen && rcpt === undefined && mail !== undefined) session.wire.destroy();
  if (first?.kind === 'rejected') session.leaving = reset(session, isDataOpen);
  return first;
}

async function announceStepwise(
  session: SmtpSession,
  commands: readonly string[],
  encoding: 'latin1' | 'utf8',
): Promise<Refusal | undefined> {
  for (const [index, phase] of ENVELOPE_PHASES.entries()) {
    session.wire.write(commands[index] ?? '', 1, encoding);
    const refusal = granted(session, phase, await session.reply(phase));
    if (refusal === undefined) continue;
    if (refusal.kind === 'rejected') session.leaving = reset(session, false);
    return refusal;
  }
  return undefined;
}

/** The same, and the phase is over. */
function granted(session: SmtpSession, phase: SmtpPhase, reply: SmtpReply | WireFault): Refusal | undefined {
  const refusal = refusalOf(session, phase, reply);
  if (refusal === undefined) session.timer.end(phase);
  return refusal;
}

/** Nothing when the reply grants what was asked: 2xx, or 354 for DATA. */
function refusalOf(session: SmtpSession, phase: SmtpPhase, reply: SmtpReply | WireFault): Refusal | undefined {
  if (isFault(reply)) return session.failed(phase, reply);
  if (isNegative(reply)) return session.rejected(phase, reply);
  const isGranted = phase === 'data' ? reply.code === START_MAIL_INPUT : isPositive(reply);
  return isGranted ? undefined : session.confused(phase, reply);
}

/**
 * Leaves a refused transaction. A server that replies 354 although it took no recipient gets a lone dot (RFC 2920 section 3.1).
 * Errors here concern the connection, not the result.
 */
async function reset(session: SmtpSession, isDataOpen: boolean): Promise<void> {
  if (isDataOpen) {
    const reply = await session.command('rset', '.');
    if (isFault(reply)) return;
  }
  const reply = await session.command('rset', 'RSET');
  if (!isFault(reply) && !isPositive(reply)) session.wire.destroy();
}

async function sendAtOnce(session: SmtpSession, stuffed: Buffer, hooks: SmtpHooks): Promise<SmtpResult> {
  if (!mayFinish(session, hooks)) return session.failed('data', ABORTED);
  session.wire.write(withFinalDot(stuffed), 1);
  return readFinalReply(session);
}

async function sendInBlocks(session: SmtpSession, stuffed: Buffer, hooks: SmtpHooks): Promise<SmtpResult> {
  const { wire, timeouts } = session;
  wire.acceptsEarlyReply = true;
  for (let at = 0; at < stuffed.length; at += BLOCK_BYTES) {
    await wire.writeBlock(stuffed.subarray(at, at + BLOCK_BYTES), timeouts.block);
    const early = wire.takeReply();
    if (early !== undefined) return interrupted(session, early);
    if (wire.fault !== undefined) return session.failed('data', wire.fault);
  }
  wire.acceptsEarlyReply = false;
  if (!mayFinish(session, hooks)) return session.failed('data', ABORTED);
  wire.write(finalDot(stuffed), 1);
  return readFinalReply(session);
}

/** The server replied before the final dot: a refusal counts, anything else makes no sense. Either way it is over. */
function interrupted(session: SmtpSession, reply: SmtpReply): SmtpResult {
  if (!isNegative(reply)) return session.confused('data', reply);
  session.wire.destroy();
  return session.rejected('data', reply);
}

/** The caller's final decision; an exception of the hook must not leave half a message on a usable connection. */
function mayFinish(session: SmtpSession, hooks: SmtpHooks): boolean {
  try {
    return hooks.beforeFinalDot();
  } catch (error) {
    session.wire.destroy();
    throw error;
  }
}

/** From here on no reply means that the outcome is unknown, so its limit is whole (RFC 5321 section 4.5.3.2.6). */
async function readFinalReply(session: SmtpSession): Promise<SmtpResult> {
  session.timer.end('data');
  session.isPastFinalDot = true;
  session.wire.deadline.endAttempt();
  const reply = await session.reply('final');
  session.isPastFinalDot = false;
  if (isFault(reply)) return session.failed('final', reply, { afterFinalDot: true });
  if (isPositive(reply)) return session.accepted(reply);
  if (isNegative(reply)) return session.rejected('final', reply);
  return session.confused('final', reply, { afterFinalDot: true });
}
