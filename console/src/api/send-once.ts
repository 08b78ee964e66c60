import { ApiError, call, newId } from './client';

/** Whether the service may have accepted the request, or may still do so. */
const isUndecided = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 0 || error.status >= 500 || error.code === 'idempotency_in_progress');

/** Idempotency keys of what may have been accepted. Not of a dialog or a page: it may have been left and opened again meanwhile. */
const undecided = new Map<string, string>();

/**
 * Posts an email. Where the response is lost, the same request has the same idempotency key when the user sends it again, so that
 * recipients get one email. After a refusal it has another: the service would repeat the refusal when its cause is gone.
 * @throws ApiError
 */
export async function sendOnce<Answer>(path: string, body?: unknown): Promise<Answer> {
  const request = JSON.stringify([path, body]);
  const idempotencyKey = undecided.get(request) ?? newId();
  undecided.set(request, idempotencyKey);
  try {
    const answer = await call<Answer>('POST', path, { body, idempotencyKey });
    undecided.delete(request);
    return answer;
  } catch (error) {
    if (!isUndecided(error)) undecided.delete(request);
    throw error;
  }
}
