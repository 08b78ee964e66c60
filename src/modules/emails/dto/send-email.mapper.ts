import { ValidationError } from '../../../common/errors/app-error';
import type { ItemResult } from '../accept/submission';
import type { AcceptedEmailDto, BatchResultDto } from './send-email.dto';

export const MAX_BATCH = 100;

export function toAcceptedDto(accepted: Extract<ItemResult, { kind: 'accepted' }>): AcceptedEmailDto {
  const { id, status, scheduledAt, suppressed } = accepted;
  const leftOut = `Left out because they are on the suppression list: ${suppressed.length} of the recipients`;
  const warnings = [...(suppressed.length > 0 ? [leftOut] : []), ...(accepted.warnings ?? [])];
  return {
    id,
    status,
    ...(scheduledAt && { scheduledAt }),
    ...(warnings.length > 0 && { warnings }),
    ...(suppressed.length > 0 && { suppressedRecipients: [...suppressed] }),
  };
}

export function toBatchDto(results: readonly ItemResult[]): BatchResultDto {
  const failed = results.filter((result) => result.kind === 'refused').length;
  const data = results.map((result, index) => {
    if (result.kind === 'accepted') return { index, ...toAcceptedDto(result) };
    const { code, message, details } = result;
    return { index, status: 'error', code, error: message, ...(details && { details }) };
  });
  return { data, summary: { total: results.length, successful: results.length - failed, failed } };
}

/** @throws ValidationError unless the body is an array of 1 to 100 elements */
export function requireBatch(body: unknown): readonly unknown[] {
  if (Array.isArray(body) && body.length >= 1 && body.length <= MAX_BATCH) return body;
  throw new ValidationError({ body: [`body must be an array of 1 to ${MAX_BATCH} emails`] });
}
