import { type DeliveryOutcome, type FailureReason, ITS_TURN_WORDS } from '../../../delivery/ports/outcome';

type Ending = Extract<DeliveryOutcome, { kind: 'failed' | 'bounced' }>;

/** What a recipient had come to before the end. */
interface History {
  readonly attempts: number;
  /** What its server said last, or why the last attempt failed or was put off; null before any. */
  readonly lastResponse: string | null;
}

/** What each end without a reply means, for the sender; nothing of the recipient is in it. */
const WORDS: Readonly<Record<FailureReason, string>> = {
  blocked: 'The address is on the suppression list: no mail is sent to it until it is taken off',
  expired: 'It was not delivered within its time',
  cancelled: 'It was cancelled before its first attempt',
  domain_removed: "The sender's domain, or its key, had been removed before the mail could be signed",
  poison: 'Workers died while they held this mail, so that it is not tried again; the operator has its traces',
  content_unavailable: 'The content of the mail was not there any more when its turn came',
  operator: 'The operator of this service has ended its delivery',
};

/** Details of a failure that change what it means. */
const WORDS_OF_DETAIL: Readonly<Record<string, string>> = {
  erased: 'It was cancelled because its recipient was erased',
};

/**
 * Why a delivery has ended, in plain words: every end has them.
 */
export function explanationOf(ending: Ending, before: History): string {
  const words = ending.explanation ?? (ending.kind === 'failed' ? wordsOf(ending) : refusal(ending.smtp?.response));
  return hasRunOut(ending) ? [words, ...lastWords(ending, before)].join('; ') : words;
}

function wordsOf({ reason, detail }: Extract<Ending, { kind: 'failed' }>): string {
  const words = (detail === undefined ? undefined : WORDS_OF_DETAIL[detail]) ?? WORDS[reason];
  return reason === 'blocked' && detail !== undefined ? `${words} (${detail.replaceAll('_', ' ')})` : words;
}

/** Ended by its time alone, without another attempt that could say how it went. */
function hasRunOut(ending: Ending): boolean {
  return ending.smtp === undefined && (ending.reason === 'expired' || ending.reason === 'retries exhausted');
}

function lastWords({ obstacle, explanation }: Ending, { attempts, lastResponse }: History): string[] {
  if (lastResponse !== null) return [...listed(obstacle), `the last result was: ${lastResponse}`];
  // With neither a result nor an obstacle it has been due all the time; of a recipient who was erased nothing is known.
  const isUntouched = attempts === 0 && explanation !== undefined;
  return listed(obstacle ?? (isUntouched ? ITS_TURN_WORDS : undefined));
}

function listed(words: string | undefined): string[] {
  return words === undefined ? [] : [words];
}

function refusal(response: string | undefined): string {
  const words = 'The server of the recipient refused it';
  return response === undefined ? words : `${words}: ${response}`;
}
