import { lookup } from 'mime-types';
import { AppError } from '../../../../common/errors/app-error';
import { decodeBase64, decodedLength } from '../../../../common/mime/transfer-encoding';
import type { FieldReader } from './field-reader';
import type { Attachment } from './send-request';

const MAX_ATTACHMENTS = 10;
const MAX_TOTAL_BYTES = 25 * 1024 * 1024;
const ATTACHMENT_FIELDS = new Set(['filename', 'content', 'contentType', 'contentId']);
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** Base64 up to this length is decoded at once, in a tenth of a millisecond. */
const SMALL_CONTENT = 64 * 1024;
/** RFC 6838 section 4.2 names, optionally with parameters of plain tokens. */
const CONTENT_TYPE =
  /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}(; ?[a-z0-9-]{1,40}="?[\w.+-]{1,100}"?){0,4}$/i;
/** Composite types: their nested parts could hide executable content. */
const COMPOSITE = /^(multipart|message)\//i;
const CONTENT_ID = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.@-]{1,200}$/;

const UNKNOWN_TYPE = 'application/octet-stream';
const UNENCODED = `must not be message/… or multipart/…: leave it out, or use ${UNKNOWN_TYPE}`;
const FILENAME = /^[^\u0000-\u001f\u007f\\/]{1,255}$/;
/** Extensions of executable files, which mail providers refuse. */
const EXECUTABLE =
  /\.(ade|adp|app|apk|appx|bat|cab|chm|cmd|com|cpl|dll|dmg|exe|gadget|hta|ins|isp|iso|jar|js|jse|lib|lnk|mde|msc|msi|msix|msp|mst|nsh|pif|ps1|reg|scr|sct|shb|sys|vb|vbe|vbs|vhd|vxd|wsc|wsf|wsh|xll)[.\s]*$/i;

/** The decoded large contents of a request's attachments by entry; undefined for invalid base64. */
export type DecodedContents = ReadonlyMap<unknown, Buffer | undefined>;

/**
 * Decodes large contents before `readAttachments`, in several turns of the event loop. @param holder whose turns these are
 * @throws AppError payload_too_large when they exceed 25 MiB together
 */
export async function decodeContents(body: unknown, holder: string): Promise<DecodedContents> {
  const decoded = new Map<unknown, Buffer | undefined>();
  const entries = membersOf(body).attachments;
  if (!Array.isArray(entries) || entries.length > MAX_ATTACHMENTS) return decoded;
  const contents = entries.map((entry): [entry: unknown, content: unknown] => [entry, membersOf(entry).content]);
  requireFitting(contents.reduce((sum, [, content]) => sum + lengthOf(content), 0));
  for (const [entry, content] of contents) {
    if (isLarge(content)) decoded.set(entry, await decodeBase64(content, holder));
  }
  return decoded;
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function lengthOf(content: unknown): number {
  return typeof content === 'string' ? decodedLength(content) : 0;
}

function isLarge(content: unknown): content is string {
  return typeof content === 'string' && content.length > SMALL_CONTENT;
}

function requireFitting(bytes: number): void {
  if (bytes <= MAX_TOTAL_BYTES) return;
  throw new AppError('payload_too_large', 'The attachments exceed 25 MiB', {
    details: { maxBytes: MAX_TOTAL_BYTES },
  });
}

/**
 * Reads and decodes attachments.
 * @throws AppError payload_too_large when they exceed 25 MiB together
 */
export function readAttachments(reader: FieldReader, value: unknown, decoded: DecodedContents): Attachment[] {
  const attachments: Attachment[] = [];
  let total = 0;
  reader.list(value, 'attachments', MAX_ATTACHMENTS).forEach((entry, index) => {
    const attachment = readAttachment(reader, entry, { path: `attachments[${index}]`, decoded });
    if (!attachment) return;
    attachments.push(attachment);
    total += attachment.content.length;
  });
  requireFitting(total);
  return attachments;
}

function readAttachment(
  reader: FieldReader,
  value: unknown,
  { path, decoded }: { readonly path: string; readonly decoded: DecodedContents },
): Attachment | undefined {
  const given = reader.object(value, path);
  if (!given) return undefined;
  reader.unknownFields(given, ATTACHMENT_FIELDS, path);
  const filename = readFilename(reader, given.filename, path);
  const contentType = readContentType(reader, given.contentType, filename, path);
  const contentId = readContentId(reader, given.contentId, path);
  const content = decoded.has(given) ? decoded.get(given) : decode(given.content);
  if (!content) reader.add(`${path}.content`, 'must be base64, padded and without line breaks');
  return content && { filename, contentType, contentId, content };
}

function decode(value: unknown): Buffer | undefined {
  const isBase64 = typeof value === 'string' && value.length % 4 === 0 && BASE64.test(value);
  return isBase64 ? Buffer.from(value, 'base64') : undefined;
}

function readFilename(reader: FieldReader, value: unknown, path: string): string {
  if (typeof value !== 'string' || !FILENAME.test(value) || /^\.+$/.test(value)) {
    reader.add(`${path}.filename`, 'must be a file name of 1 to 255 characters without folders');
    return '';
  }
  if (EXECUTABLE.test(value)) reader.add(`${path}.filename`, 'has an executable type, which mail providers refuse');
  return value;
}

/** Reads `contentType`; its default is derived from the name's extension. */
function readContentType(reader: FieldReader, value: unknown, filename: string, path: string): string {
  if (value === undefined) return typeOfName(filename);
  const isType = typeof value === 'string' && CONTENT_TYPE.test(value);
  if (isType && !COMPOSITE.test(value)) return value;
  const problem = isType ? UNENCODED : 'must be a media type such as application/pdf';
  reader.add(`${path}.contentType`, problem);
  return '';
}

function typeOfName(filename: string): string {
  const type = lookup(filename) || UNKNOWN_TYPE;
  return COMPOSITE.test(type) ? UNKNOWN_TYPE : type;
}

function readContentId(reader: FieldReader, value: unknown, path: string): string | undefined {
  if (value === undefined || (typeof value === 'string' && CONTENT_ID.test(value))) return value;
  reader.add(`${path}.contentId`, 'must be 1 to 200 printable characters without spaces or angle brackets');
  return undefined;
}
