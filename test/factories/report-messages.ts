const BOUNDARY = '=_report';

function multipart(reportType: string, parts: readonly (readonly [type: string, body: string])[]): string {
  const written = parts.map(([type, body]) => `--${BOUNDARY}\r\nContent-Type: ${type}\r\n\r\n${body}\r\n`).join('');
  return (
    'From: Mail Delivery System <MAILER-DAEMON@mx.example.org>\r\nSubject: Report\r\nMIME-Version: 1.0\r\n' +
    `Content-Type: multipart/report; report-type=${reportType}; boundary="${BOUNDARY}"\r\n\r\n` +
    `${written}--${BOUNDARY}--\r\n`
  );
}

export interface StatusFields {
  readonly action?: string;
  readonly status?: string;
  readonly diagnostic?: string;
  readonly finalRecipient?: string;
  readonly originalRecipient?: string;
  readonly text?: string;
}

/** A delivery status notification (RFC 3464); by default a hard bounce. */
export function statusNotification(fields: StatusFields = {}): string {
  const { action = 'failed', status = '5.1.1', diagnostic = '550 5.1.1 No such user' } = fields;
  const { finalRecipient = 'somebody@else.example', text = 'About your mail.' } = fields;
  const original = fields.originalRecipient ? `Original-Recipient: rfc822;${fields.originalRecipient}\r\n` : '';
  const block =
    `Reporting-MTA: dns; mx.example.org\r\n\r\n${original}` +
    `Final-Recipient: rfc822; ${finalRecipient}\r\nAction: ${action}\r\nStatus: ${status}\r\n` +
    `Remote-MTA: dns; mx.else.example\r\nDiagnostic-Code: smtp; ${diagnostic}\r\n`;
  return multipart('delivery-status', [
    ['text/plain', `${text}\r\n`],
    ['message/delivery-status', block],
  ]);
}

export const HARD_BOUNCE_REPORT = statusNotification();
export const SOFT_BOUNCE_REPORT = statusNotification({ status: '4.2.2', diagnostic: '452 4.2.2 Mailbox full' });
export const SUCCESS_REPORT = statusNotification({
  action: 'delivered',
  status: '2.0.0',
  diagnostic: '250 2.0.0 OK',
});

export interface ComplaintFields {
  /** The mail that the complaint attaches. */
  readonly original?: string;
  readonly originalMailFrom?: string;
  readonly originalRecipient?: string;
}

/** A feedback report (RFC 5965). */
export function complaint({ original, originalMailFrom, originalRecipient }: ComplaintFields = {}): string {
  const block = [
    'Feedback-Type: abuse',
    'User-Agent: Loop/1.0',
    'Version: 1',
    ...(originalMailFrom === undefined ? [] : [`Original-Mail-From: <${originalMailFrom}>`]),
    ...(originalRecipient === undefined ? [] : [`Original-Rcpt-To: <${originalRecipient}>`]),
  ];
  return multipart('feedback-report', [
    ['text/plain', 'A complaint.\r\n'],
    ['message/feedback-report', `${block.join('\r\n')}\r\n`],
    ...(original === undefined ? [] : [['message/rfc822', original] as const]),
  ]);
}
