import type { RecipientLinkTarget } from '../../emails/recipient-links.service';
import type { Recognition } from '../automation/recognition';

export type HitKind = 'opened' | 'clicked';

/** One fetch of a pixel or a link, until it is written. */
export interface Hit extends Recognition {
  readonly kind: HitKind;
  readonly target: RecipientLinkTarget;
  /** The same for the same link of the same recipient, and for no other. */
  readonly linkKey: string;
  readonly occurredAt: Date;
  /** By the clock that never jumps. */
  readonly atMs: number;
  /** At most 256 printable ASCII characters. */
  readonly userAgent: string;
  /** The client is known, so when it comes and how often tells nothing of it. */
  readonly isOnThisMachine: boolean;
  /** The network of the client, not its address. */
  readonly ip: string | undefined;
  /** Where a click leads. */
  readonly url?: string;
}

/** What became of a hit: an event that counts, one that does not, nothing since its email is gone. */
export type HitResult = 'recorded' | 'automated' | 'gone';
