/**
 * What one message may make the parser do. All work is linear in these numbers: whatever a message holds, a report
 * costs a few passes over at most `messageLength` bytes.
 */
export const PARSING_LIMITS = {
  /** Bytes; the listener takes no more either. What follows is not looked at. */
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
  /** Lines of that text that are searched for a reply. */
  textLines: 400,
  lineLength: 1000,
  /** Recipients of one delivery status. */
  statusBlocks: 50,
  /** `Received` fields in a header (RFC 5321 section 6.3 asks for a limit of at least 100; ours come over few hops). */
  receivedFields: 30,
} as const;
