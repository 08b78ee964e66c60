/**
 * What one message may make a reader do. All work is linear in these numbers, whatever a message holds.
 */
export const MIME_LIMITS = {
  /** Bytes that `splitMessage` looks at: of a report, the listener takes no more either. */
  messageLength: 2 * 1024 * 1024,
  /** Multiparts inside one another. */
  depth: 8,
  /** In the whole message. */
  parts: 50,
  /** Lines of one header, folded ones counted singly. */
  headerLines: 1000,
  /** Characters of one field after unfolding; the rest is dropped. */
  fieldLength: 4096,
  /** Encoded characters of one part that are decoded and read as text. */
  textLength: 64 * 1024,
} as const;
