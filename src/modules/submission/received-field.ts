import type { SMTPServerSession } from 'smtp-server';

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
