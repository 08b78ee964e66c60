/** A part of a message that its html may refer to. */
export interface InlinePart {
  /** As given by the sender. */
  readonly type: string;
  /** Without angle brackets. */
  readonly contentId: string | undefined;
  readonly bytes: Buffer;
}

/** Raster images only: they hold nothing that runs or loads. */
export const INLINE_IMAGE_TYPES: readonly string[] = [
  ...['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp'],
];
export const MAX_INLINE_IMAGE_BYTES = 512 * 1024;
const MAX_TOTAL_BYTES = 4 * 1024 * 1024;
/** RFC 2392: the content id, percent-encoded. */
const CID_URL = /\bcid:([^\s"'<>()\\]{1,500})/gi;

/**
 * The html with `cid:` references to small images replaced by the images themselves as `data:` URLs. A reference to
 * anything else stays as it is, and loads nothing.
 */
export function withInlineImages(html: string, parts: readonly InlinePart[]): string {
  const images = new Map(parts.filter(isSmallImage).map((part) => [part.contentId, part]));
  if (images.size === 0) return html;
  let left = MAX_TOTAL_BYTES;
  return html.replace(CID_URL, (url: string, id: string) => {
    const image = images.get(id) ?? images.get(decoded(id));
    if (!image || image.bytes.length > left) return url;
    left -= image.bytes.length;
    return `data:${image.type};base64,${image.bytes.toString('base64')}`;
  });
}

function isSmallImage({ type, contentId, bytes }: InlinePart): boolean {
  return contentId !== undefined && INLINE_IMAGE_TYPES.includes(type) && bytes.length <= MAX_INLINE_IMAGE_BYTES;
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id.replaceAll('&amp;', '&'));
  } catch {
    return id;
  }
}
