import type { ReplyStage } from './reply-rule';

/**
 * Phases by the names that `SmtpFacts.phase` carries. A name that is missing here counts as `session`, the stage in
 * which nothing is suppressed and nothing bounces at first sight.
 */
const STAGE_OF_PHASE: ReadonlyMap<string, ReplyStage> = new Map<string, ReplyStage>([
  ['connect', 'session'],
  ['banner', 'session'],
  ['ehlo', 'session'],
  ['helo', 'session'],
  ['starttls', 'session'],
  ['tls', 'session'],
  ['auth', 'session'],
  ['mail', 'session'],
  ['rcpt', 'recipient'],
  ['data', 'message'],
  ['body', 'message'],
  ['block', 'message'],
  ['message', 'message'],
  ['dot', 'message'],
  ['final-dot', 'message'],
]);

/** The stage of a phase; `session` when the phase is unknown. */
export function stageOfPhase(phase: string | undefined): ReplyStage {
  return STAGE_OF_PHASE.get(phase?.toLowerCase() ?? '') ?? 'session';
}
