import { MIME_LIMITS } from '../../../common/mime/mime-message';

/**
 * A received message about our mail. Nothing in it proves which delivery it concerns: the caller has that from the signed
 * address.
 */
export type Report =
  | {
      readonly kind: 'bounce';
      readonly action: 'failed';
      readonly bounceType: 'hard' | 'soft';
      readonly suppress: boolean;
      /** Why, within the class. */
      readonly reason: string;
      readonly class: string;
      readonly ruleId: string;
      readonly countsAgainstSender: boolean;
      /** In plain words; rules of an operator need not have one. */
      readonly explanation?: string | undefined;
      readonly code?: number;
      readonly enhancedCode?: string;
      /** The remote side's reply: at most 500 printable characters. */
      readonly response?: string;
      readonly remoteHost?: string;
      readonly finalRecipient?: string;
      /** The address that was expanded to `finalRecipient`, where the report says so. */
      readonly originalRecipient?: string;
    }
  | {
      readonly kind: 'delivered';
      readonly remoteHost?: string;
      readonly response?: string;
      readonly enhancedCode?: string;
    }
  | { readonly kind: 'delayed' | 'relayed' | 'expanded'; readonly response?: string }
  | {
      readonly kind: 'complaint';
      readonly feedbackType: string;
      readonly reportingSystem?: string;
      readonly original?: OriginalMessage;
    }
  | { readonly kind: 'ignored'; readonly reason: IgnoreReason };

export type IgnoreReason =
  | 'auto-reply'
  | 'loop'
  | 'not-a-report'
  | 'unreadable'
  | 'too-complex'
  | 'challenge'
  | 'delay-only'
  | 'mdn';

/**
 * What a report attaches of our mail: bytes as they came (message/rfc822 or text/rfc822-headers), and the places where a
 * copy shows whose it was. Addresses that it names (`Original-Rcpt-To`, RFC 5965 section 3.2) are not read: the recipient of the
 * mail can write another recipient's.
 */
export interface OriginalMessage {
  readonly raw?: Buffer;
  readonly hasBody: boolean;
  readonly originalMailFrom?: string;
  readonly returnPath?: string;
  readonly messageId?: string;
  readonly listUnsubscribe?: string;
}

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
  /** `Received` fields in a header (RFC 5321 section 6.3 requires a limit of at least 100; ours have few hops). */
  receivedFields: 30,
} as const;

/** Controls, lone surrogates, private and unassigned characters, every kind of space, and what reorders text. */
const UNFIT = /[\p{C}\p{Z}]{1,100}/gu;

/** Text of a message as one line of at most `maxLength` characters; undefined when nothing is left. */
export function printable(text: string | undefined, maxLength: number): string | undefined {
  const line = text
    ?.slice(0, maxLength * 4)
    .replace(UNFIT, ' ')
    .trim()
    .slice(0, maxLength)
    // Cutting may halve a surrogate pair.
    .replace(/[\p{Cs}\s]{1,2}$/u, '');
  return line === '' ? undefined : line;
}
