import { isMissing } from '../../api/client';
import type { Data, QueueAction } from '../../api/types';

const STEP_MS = 500;
/** An outage lasts longer than a step of the action. */
const AFTER_ERROR_MS = 5_000;

/** When to ask again how far an action is; false when there is nothing more to learn. */
export function actionInterval(data: Data<QueueAction> | undefined, error: unknown): number | false {
  if (data?.data.status === 'completed' || isMissing(error)) return false;
  return error ? AFTER_ERROR_MS : STEP_MS;
}
