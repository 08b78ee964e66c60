import type { EmailContent, EmailDetail } from '../../api/types';

/** One argument of a POSIX shell, whatever is in it. */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The same email as a command, for a shell with an API key in WAYBILL_KEY. Attachments are not in it: the API does not give them back. */
export function toCurl(
  email: EmailDetail,
  content: Pick<EmailContent, 'html' | 'text' | 'headers'> | undefined,
  origin: string,
): string {
  const body = {
    from: email.fromName ? { email: email.fromEmail, name: email.fromName } : email.fromEmail,
    to: email.toEmails,
    ...(email.ccEmails && { cc: email.ccEmails }),
    ...(email.bccEmails && { bcc: email.bccEmails }),
    ...(email.replyTo && { replyTo: email.replyTo }),
    subject: email.subject,
    ...(content?.html !== undefined && { html: content.html }),
    ...(content?.text !== undefined && { text: content.text }),
    ...(Object.keys(content?.headers ?? {}).length > 0 && { headers: content?.headers }),
    ...(email.tags.length > 0 && { tags: email.tags }),
    ...(email.metadata && { metadata: email.metadata }),
  };
  return [
    `curl -sS ${shellQuote(`${origin}/v1/emails`)}`,
    `  -H "Authorization: Bearer $WAYBILL_KEY"`,
    `  -H 'Content-Type: application/json'`,
    `  -d ${shellQuote(JSON.stringify(body))}`,
  ].join(' \\\n');
}
