import type { EmailContent, EmailDetail } from '../../api/types';

/** One argument of a POSIX shell, whatever is in it. */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The service takes a time from a minute ahead on. */
const LEAST_AHEAD_MS = 60_000;

/**
 * The same email as a command, for a shell with an API key in WAYBILL_KEY. Attachments are not in it: the API does not give them back.
 * The body is read from a here-document: an argument may be no longer than 128 KiB.
 */
export function toCurl(
  email: EmailDetail,
  content: Pick<EmailContent, 'html' | 'text' | 'headers'>,
  { origin, nowMs }: { readonly origin: string; readonly nowMs: number },
): string {
  const { scheduledFor } = email;
  const isAhead = scheduledFor !== undefined && Date.parse(scheduledFor) - nowMs > LEAST_AHEAD_MS;
  const body = {
    from: email.fromName ? { email: email.fromEmail, name: email.fromName } : email.fromEmail,
    to: email.toEmails,
    ...(email.ccEmails && { cc: email.ccEmails }),
    ...(email.bccEmails && { bcc: email.bccEmails }),
    ...(email.replyTo && { replyTo: email.replyTo }),
    subject: email.subject,
    ...(content.html !== undefined && { html: content.html }),
    ...(content.text !== undefined && { text: content.text }),
    ...(Object.keys(content.headers).length > 0 && { headers: content.headers }),
    ...(email.tags.length > 0 && { tags: email.tags }),
    ...(email.metadata && { metadata: email.metadata }),
    ...(isAhead && { scheduledAt: scheduledFor }),
  };
  // Bash replaces `!` by lines of its history, in a here-document too. JSON is one line, which is never the delimiter.
  const json = JSON.stringify(body).replaceAll('!', String.raw`\u0021`);
  return [
    `curl -sS ${shellQuote(`${origin}/v1/emails`)}`,
    `  -H "Authorization: Bearer $WAYBILL_KEY"`,
    `  -H 'Content-Type: application/json'`,
    `  --data-binary @- <<'EOF'\n${json}\nEOF\n`,
  ].join(' \\\n');
}
