import { useRef } from 'react';
import { ApiError, call, newId } from './client';

interface Undecided {
  readonly request: string;
  readonly idempotencyKey: string;
}

/** Whether the service may have accepted the request, or may still do so. */
const isUndecided = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 0 || error.status >= 500 || error.code === 'idempotency_in_progress');

/**
 * Posts an email. Where the response is lost, the same request has the same idempotency key when the user sends it again, so that
 * recipients get one email. After a refusal it has another: the service would repeat the refusal when its cause is gone.
 */
export function useSendOnce() {
  const undecided = useRef<Undecided>(undefined);
  return async <Answer>(path: string, body?: unknown): Promise<Answer> => {
    const request = JSON.stringify([path, body]);
    if (undecided.current?.request !== request) undecided.current = { request, idempotencyKey: newId() };
    const { idempotencyKey } = undecided.current;
    try {
      const answer = await call<Answer>('POST', path, { body, idempotencyKey });
      undecided.current = undefined;
      return answer;
    } catch (error) {
      if (!isUndecided(error)) undecided.current = undefined;
      throw error;
    }
  };
}
