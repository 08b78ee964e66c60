import { ApiError } from '../../api/client';
import type { Data, QueueAction } from '../../api/types';
import { actionInterval, leftAlone } from './action-progress';

const error = (status: number) => new ApiError({ status, code: 'x', message: 'No' });
const at = (status: QueueAction['status']) => ({ data: { status } }) as Data<QueueAction>;

describe('how often the progress of an action is asked for', () => {
  it('is every half a second while it runs, and more seldom while the service is away', () => {
    expect(actionInterval(undefined, null)).toBe(500);
    expect(actionInterval(at('running'), null)).toBe(500);
    expect(actionInterval(at('running'), error(0))).toBe(5_000);
    expect(actionInterval(undefined, error(503))).toBe(5_000);
  });

  it('is not any more once it is completed, or not known any more', () => {
    expect(actionInterval(at('completed'), null)).toBe(false);
    expect(actionInterval(at('completed'), error(503))).toBe(false);
    expect(actionInterval(at('running'), error(404))).toBe(false);
  });
});

describe('what an action has left alone', () => {
  const done = { action: 'retry_now', status: 'completed', matched: 1_299, changed: 200, claimed: 99 } as QueueAction;

  it('is said with the reason, once the action is completed', () => {
    expect(leftAlone(done)).toMatch(/^1,000 were not waiting for another attempt: .* due already/);
    expect(leftAlone({ ...done, action: 'release' })).toBe('1,000 were not held.');
    expect(leftAlone({ ...done, status: 'running' })).toBeUndefined();
    expect(leftAlone({ ...done, matched: 299 })).toBeUndefined();
  });
});
