import { newId } from '../../src/common/ids';
import type { AcceptCommand, AcceptedEmail } from '../../src/modules/emails/accept/request/send-request';
import { parseSendRequest } from '../../src/modules/emails/accept/request/parse-send-request';
import { sendBody } from './send-requests';

/** The email that the accept path would write for a request, of a new organization. */
export function acceptedEmail(fields: Record<string, unknown> = {}): AcceptedEmail {
  const attachments = [{ filename: 'a.txt', content: '' }];
  const parsed = parseSendRequest(sendBody({ from: 'a@x.example', attachments, ...fields }), new Date());
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.details));
  const { request } = parsed;
  const command: AcceptCommand = {
    kind: 'command',
    organizationId: newId(),
    mode: 'live',
    domain: { id: newId(), name: 'x.example', isLimited: false },
    request,
    monthlyRecipients: null,
    trackByDefault: { opens: true, clicks: true },
  };
  return { id: newId(), command, recipients: request.recipients, suppressed: [] };
}
