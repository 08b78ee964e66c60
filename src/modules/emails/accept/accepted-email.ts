import type { Mode } from '../../../common/tenant';
import type { SuppressionReason } from '../../suppressions/suppressions.service';
import type { Recipient, SendRequest } from './send-request';

/** A validated request with everything looked up that it needs, ready to be written. */
export interface AcceptCommand {
  readonly kind: 'command';
  readonly organizationId: string;
  readonly mode: Mode;
  readonly domain: {
    readonly id: string;
    readonly name: string;
    /** True: its live mail counts against the limits of a warm-up, or of a domain that is held back. */
    readonly isLimited: boolean;
  };
  readonly request: SendRequest;
  readonly trackByDefault: { readonly opens: boolean; readonly clicks: boolean };
}

/** What is about to be inserted. */
export interface AcceptedEmail {
  readonly id: string;
  readonly command: AcceptCommand;
  /** Those that are not suppressed. */
  readonly recipients: readonly Recipient[];
  readonly suppressed: readonly { readonly email: string; readonly reason: SuppressionReason }[];
}
