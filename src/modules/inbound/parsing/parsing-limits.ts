import { MIME_LIMITS } from '../../../common/mime/mime-limits';

/**
 * What one message may make the parser do. All work is linear in these numbers: whatever a message holds, a report
 * costs a few passes over at most `messageLength` bytes.
 */
export const PARSING_LIMITS = {
  ...MIME_LIMITS,
  /** Lines of a text that are searched for a reply. */
  textLines: 400,
  lineLength: 1000,
  /** Recipients of one delivery status. */
  statusBlocks: 50,
  /** `Received` fields in a header (RFC 5321 section 6.3 asks for a limit of at least 100; ours come over few hops). */
  receivedFields: 30,
} as const;
