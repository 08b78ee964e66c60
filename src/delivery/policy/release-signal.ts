import { stageOfPhase } from './reply-stage';
import { classifyRejection, type TransmissionResult } from './resolve-outcome';

/**
 * What a finished lane tells about its destination. `success`: it takes our mail. `throttled`: it lives, but wants less
 * of us. `unreachable`: no conversation came about. `neutral`: nothing that bears on speed.
 */
export type ReleaseSignal = 'success' | 'throttled' | 'unreachable' | 'neutral';

/** Attempts that this side ended, which is no news of the other. */
const OWN_CAUSES: ReadonlySet<string> = new Set(['aborted', 'insecure', 'too-large', 'unsupported']);

/** The news for the destination limiter in the result of one attempt. */
export function releaseSignalOf(result: TransmissionResult): ReleaseSignal {
  switch (result.kind) {
    case 'accepted':
      return 'success';
    case 'rejected':
      return classifyRejection(result).action === 'retry-and-throttle-destination' ? 'throttled' : 'neutral';
    case 'failed':
      if (OWN_CAUSES.has(result.cause)) return 'neutral';
      return stageOfPhase(result.smtp.phase) === 'session' ? 'unreachable' : 'throttled';
    case 'unroutable':
      return 'neutral';
  }
}
