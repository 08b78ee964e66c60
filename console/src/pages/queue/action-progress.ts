import { isMissing } from '../../api/client';
import type { Data, QueueAction } from '../../api/types';
import { count } from '../../parts/format';

const STEP_MS = 500;
/** An outage lasts longer than a step of the action. */
const AFTER_ERROR_MS = 5_000;

/** When to ask again how far an action is; false when there is nothing more to learn. */
export function actionInterval(data: Data<QueueAction> | undefined, error: unknown): number | false {
  if (data?.data.status === 'completed' || isMissing(error)) return false;
  return error ? AFTER_ERROR_MS : STEP_MS;
}

/** Why deliveries that match were left as they are; all that match are changed by `fail`, but for what a worker has. */
const LEFT: Readonly<Record<QueueAction['action'], string>> = {
  retry_now:
    'were not waiting for another attempt: they are held, scheduled, or due already, and wait for their destination or a worker',
  hold: 'were held already',
  release: 'were not held',
  fail: 'had ended by then',
};

/** What a completed action has left alone, and why. */
export function leftAlone({ action, status, matched, changed, claimed }: QueueAction): string | undefined {
  const left = matched - changed - claimed;
  return status === 'completed' && left > 0 ? `${count(left)} ${LEFT[action]}.` : undefined;
}
