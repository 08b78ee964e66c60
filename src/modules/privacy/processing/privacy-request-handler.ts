import type { PrivacyRequestType } from '../privacy-request.entity';
import type { LeasedRequest } from './privacy-work.service';

/** Does what requests of one type ask for. */
export abstract class PrivacyRequestHandler {
  abstract readonly type: PrivacyRequestType;

  /**
   * Takes a request from where its progress stands to its end, by `complete`. It may return without: with `putBack` to go
   * on later, or when `signal` tells that the process is ending. What it throws counts as a failed attempt; a lost lease
   * ends it in silence.
   *
   * It may run again, in another process, from the progress that was last saved.
   */
  abstract run(leased: LeasedRequest, signal: AbortSignal): Promise<void>;
}

/** Those of this process. */
export class PrivacyRequestHandlers {
  constructor(readonly all: readonly PrivacyRequestHandler[]) {}
}
