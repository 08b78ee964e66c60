import { Injectable, Logger } from '@nestjs/common';
import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import { personKey } from '../../common/address-forms';
import { DiskSpace } from '../../common/disk-space';
import { AppError, reasonOf } from '../../common/errors/app-error';
import { BodyBudget } from '../../common/http/request/request-body';
import { RequestLimits } from '../../common/http/request/request-limits';
import { parseAddress } from '../../common/mail-address';
import { LineEndCheck } from '../../common/mime/line-ends';
import { type Reception, receiveMessage } from '../../common/smtp/receive-message';
import { withinTenants } from '../../common/tenant';
import type { TraceContext } from '../../common/tracing/tracing';
import { SendRawService, type SubmittedMessage } from '../emails/accept/send-raw.service';
import { SubmissionLimits, SubmissionLogin } from './submission-login';
import type { SubmissionSession } from './submission-sessions';
import {
  badAddress,
  bareLineEnds,
  farTooLarge,
  loginNeeded,
  noRoom,
  replyTo,
  tlsNeeded,
  tooLarge,
} from './submission-refusal';

/** Stands for bytes that are not UTF-8: an address with it is not the one that the client sent. */
const REPLACEMENT = '\ufffd';

/** Who submits a message, what is put before it, and whether the connection has closed. */
interface Submitting extends Pick<SubmissionSession, 'login'> {
  readonly received: Buffer;
  readonly hasGone: () => boolean;
}

/** What the listener replies to MAIL, RCPT and the end of data. */
@Injectable()
export class SubmissionReception {
  private readonly logger = new Logger(SubmissionReception.name);

  constructor(
    private readonly logins: SubmissionLogin,
    private readonly emails: SendRawService,
    private readonly rates: RequestLimits,
    private readonly limits: SubmissionLimits,
    private readonly budget: BodyBudget,
    private readonly disk: DiskSpace,
  ) {}

  /** A message is counted here, before its client sends it. @throws SubmissionRefusal */
  async begin(session: SubmissionSession): Promise<void> {
    const { login } = session;
    if (!login) throw session.isPrivate ? loginNeeded() : tlsNeeded();
    try {
      await this.logins.check(login.key);
      this.disk.assertRoom(login.principal.organizationId);
      this.rates.countMessage(login.principal);
    } catch (error) {
      throw this.replyTo(error);
    }
  }

  /** @throws SubmissionRefusal for what is no address */
  admit(address: SMTPServerAddress): void {
    const parsed = parseAddress(address.address);
    if (!parsed.ok) throw badAddress(parsed.message);
    if (parsed.email.includes(REPLACEMENT)) throw badAddress('is not UTF-8');
    address.address = parsed.email;
  }

  /**
   * Reads the message to its end and commits it behind the field `received`, within its organization; not for a client that has closed
   * before the commit begins, and sends it again (RFC 5321 section 4.1.1.10).
   *
   * @param trace the span that it is part of
   * @returns the text of the 250
   * @throws SubmissionRefusal, or the stream's error when the client has closed
   */
  async receive(
    stream: SMTPServerDataStream,
    { envelope }: SMTPServerSession,
    { login, received, hasGone }: Submitting,
    trace?: TraceContext,
  ): Promise<string> {
    if (!login) throw loginNeeded();
    const lineEnds = new LineEndCheck();
    const room = received.length;
    const reception = { ...this.receptionOf(envelope, login), room, onChunk: (chunk: Buffer) => lineEnds.add(chunk) };
    try {
      return await receiveMessage(stream, reception, async (bytes) => {
        if (lineEnds.result !== 'crlf') throw bareLineEnds();
        await this.logins.check(login.key);
        return this.submit({ bytes, received }, envelope, { ...login.principal, trace, hasGone });
      });
    } catch (error) {
      throw this.replyTo(error);
    }
  }

  private receptionOf(
    envelope: SMTPServerSession['envelope'],
    { principal }: NonNullable<SubmissionSession['login']>,
  ): Reception {
    const { maxMessageBytes, maxDataBytes } = this.limits;
    return {
      memory: this.budget,
      holder: principal.organizationId,
      limits: { maxBytes: maxMessageBytes, maxDataBytes, keptBytes: maxMessageBytes },
      expectedBytes: declaredSize(envelope, maxMessageBytes),
      refusals: { tooLarge, farTooLarge, noRoom },
    };
  }

  private async submit(
    message: Pick<SubmittedMessage, 'bytes' | 'received'>,
    { rcptTo }: SMTPServerSession['envelope'],
    submitter: Parameters<SendRawService['submit']>[1],
  ): Promise<string> {
    const recipients = rcptTo.map(({ address }) => [personKey(address), address] as const);
    const submitted = { ...message, recipients: [...new Map(recipients).values()] };
    const { accepted } = await withinTenants([submitter.organizationId], () =>
      this.emails.submit(submitted, submitter),
    );
    return `2.0.0 queued as ${accepted.id}`;
  }

  private replyTo(error: unknown): Error {
    const isKnown = error instanceof AppError || (error instanceof Error && 'responseCode' in error);
    if (!isKnown) this.logger.warn(`A message could not be taken: ${reasonOf(error)}`);
    return replyTo(error);
  }
}

/** The declared size of the client's message (RFC 1870); it may be wrong. */
function declaredSize({ mailFrom }: SMTPServerSession['envelope'], limit: number): number {
  const size = mailFrom && mailFrom.args ? Number((mailFrom.args as Record<string, unknown>).SIZE) : Number.NaN;
  return Number.isInteger(size) && size > 0 ? Math.min(size, limit) : 0;
}

/**
 * The trace of a submitted message (RFC 5321 section 4.4), with its line end. It does not say from where: that would tell every
 * recipient the address of a person's home, or of an organization's servers, and our own records have the key. Nor for whom,
 * which may be a blind recipient.
 * @param host this service's name
 */
export function receivedField(host: string, { secure, envelope }: SMTPServerSession, at: Date): Buffer {
  // RFC 3848, RFC 6531 section 4.3. All have logged in.
  const protocol = `${envelope.smtpUtf8 ? 'UTF8SMTP' : 'ESMTP'}${secure ? 'SA' : 'A'}`;
  const date = at.toUTCString().replace('GMT', '+0000');
  return Buffer.from(`Received: by ${host} (Waybill) with ${protocol};\r\n ${date}\r\n`);
}
