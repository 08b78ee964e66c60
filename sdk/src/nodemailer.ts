import { type Body, Waybill, type WaybillOptions } from './index.js';

interface MailboxData {
  name?: string;
  address: string;
  /** Of a group, which has no address. */
  group?: MailboxData[];
}

interface AttachmentData {
  filename?: string | false;
  content?: string | Uint8Array;
  encoding?: string;
  contentType?: string;
  cid?: string;
  contentDisposition?: string | false;
  raw?: unknown;
  headers?: unknown;
}

/** The data that Nodemailer passes to a transport, as far as this one uses it. */
interface MailMessage {
  data: Record<string, unknown>;
  message: {
    getEnvelope(): { from: string | false; to: string[] };
    build(callback: (error: Error | null, message: Uint8Array) => void): void;
  };
  normalize(callback: (error: Error | null, data: Record<string, unknown>) => void): void;
}

interface SentInfo {
  messageId: string;
  envelope: { from: string | false; to: string[] };
  accepted: string[];
  rejected: string[];
  response: string;
}

type Callback = (error: Error | null, info?: SentInfo) => void;
type Send = Body<'emails.send'>;

/** Options without a field in a send: with these, the message is sent as Nodemailer builds it. */
const RAW_ONLY = [
  ...['raw', 'alternatives', 'icalEvent', 'amp', 'watchHtml', 'dkim'],
  ...['inReplyTo', 'references', 'list', 'priority', 'sender', 'envelope', 'messageId', 'date'],
];
/** The service writes these, or takes them as fields. */
const OWN_HEADERS = /^(from|to|cc|bcc|subject|date|message-id|sender|reply-to|return-path|mime-version|content-.*)$/i;

/** `nodemailer.createTransport(new WaybillTransport({apiKey, baseUrl}))` */
export class WaybillTransport {
  readonly name = 'waybill';
  readonly version = '0.1.0';
  private readonly client: Waybill;

  constructor(options: WaybillOptions | Waybill) {
    this.client = options instanceof Waybill ? options : new Waybill(options);
  }

  send(mail: MailMessage, callback: Callback): void {
    this.deliver(mail).then(
      (info) => callback(null, info),
      (error: unknown) => callback(error as Error),
    );
  }

  private async deliver(mail: MailMessage): Promise<SentInfo> {
    const envelope = mail.message.getEnvelope();
    const { id, suppressedRecipients = [] } = needsRaw(mail.data)
      ? await this.sendRaw(mail)
      : await this.sendFields(mail);
    const rejected = suppressedRecipients.map(({ email }) => email);
    const isRejected = new Set(rejected.map((email) => email.toLowerCase()));
    const accepted = envelope.to.filter((address) => !isRejected.has(address.toLowerCase()));
    return { messageId: id, envelope, accepted, rejected, response: `queued as ${id}` };
  }

  private async sendRaw({ message }: MailMessage) {
    const bytes = await new Promise<Uint8Array>((resolve, reject) =>
      message.build((error, built) => (error ? reject(error) : resolve(built))),
    );
    return this.client.emails.sendRaw({ raw: base64(bytes), to: message.getEnvelope().to });
  }

  private async sendFields(mail: MailMessage) {
    const data = await new Promise<Record<string, unknown>>((resolve, reject) =>
      mail.normalize((error, normal) => (error ? reject(error) : resolve(normal))),
    );
    const fields = {
      from: mailboxes(data.from)[0],
      to: mailboxes(data.to),
      cc: mailboxes(data.cc),
      bcc: mailboxes(data.bcc),
      replyTo: mailboxes(data.replyTo),
      subject: data.subject,
      html: text(data.html),
      text: text(data.text),
      headers: headers(data.headers),
      attachments: ((data.attachments ?? []) as AttachmentData[]).map(attachment),
    };
    const given = Object.entries(fields).filter(([, value]) => !isEmpty(value));
    return this.client.emails.send(Object.fromEntries(given) as Send);
  }
}

/** Whether a message has what a send has no field for. */
function needsRaw(data: Record<string, unknown>): boolean {
  if (RAW_ONLY.some((field) => data[field] !== undefined)) return true;
  const { headers: given = {}, attachments = [] } = data as { headers?: object; attachments?: AttachmentData[] };
  const isPlain = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);
  return Array.isArray(given) || !Object.values(given).every(isPlain) || attachments.some(isSpecial);
}

/** One with a `cid` is inline, every other one an attachment. */
function isSpecial({ raw, headers: own, cid, contentDisposition: how }: AttachmentData): boolean {
  return raw !== undefined || own !== undefined || how === false || (how !== undefined && (how === 'inline') !== !!cid);
}

/** The members of groups, too. */
function mailboxes(value: unknown): { email: string; name?: string }[] {
  return ([value ?? []].flat() as MailboxData[]).flatMap(({ name, address, group }) =>
    group ? mailboxes(group) : [{ email: address, ...(name && { name }) }],
  );
}

function text(value: unknown): string | undefined {
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  return typeof value === 'string' ? value : undefined;
}

function headers(value: unknown): Record<string, string> {
  const given = Object.entries((value ?? {}) as Record<string, unknown>);
  return Object.fromEntries(
    given.filter(([name]) => !OWN_HEADERS.test(name)).map(([name, each]) => [name, String(each)]),
  );
}

function attachment({ filename, content = '', encoding, contentType, cid }: AttachmentData) {
  return {
    filename: filename || 'attachment',
    content:
      typeof content === 'string' && encoding === 'base64' ? content.replace(/\s/g, '') : base64(bytesOf(content)),
    ...(contentType && { contentType }),
    ...(cid && { contentId: cid }),
  };
}

function bytesOf(content: string | Uint8Array): Uint8Array {
  return typeof content === 'string' ? new TextEncoder().encode(content) : content;
}

function base64(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(binary);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
