import { QueryObserver } from '@tanstack/react-query';
import { ApiError } from './client';
import { createQueryClient, forPages, isWorthRetrying, slowing, waitAfter } from './query-client';

const refusal = (status: number, retryAfterSeconds?: number) =>
  new ApiError({ status, code: `http_${status}`, message: 'No', retryAfterSeconds });

describe('a list of which more is shown', () => {
  it('is loaded again as a whole, with as many requests in the same time as its first page', () => {
    expect(
      [undefined, { pages: [] }, { pages: [1] }, { pages: [1, 2, 3] }].map((data) => forPages(4_000, data)),
    ).toEqual([4_000, 4_000, 4_000, 12_000]);
  });
});

describe('a request that has failed', () => {
  it('is repeated at once after an outage, and not after a refusal or where the service says when', () => {
    expect([0, 1, 2].map((failures) => isWorthRetrying(failures, refusal(503)))).toEqual([true, true, false]);
    expect(
      [refusal(0), refusal(404), refusal(429, 7), refusal(503, 7)].map((error) => isWorthRetrying(0, error)),
    ).toEqual([true, false, false, false]);
  });

  it('waits until the service says, or longer after each failure', () => {
    expect(waitAfter(refusal(429, 40), 2_000, 1)).toBe(40_000);
    expect(waitAfter(refusal(429, 1), 60_000, 1)).toBe(60_000);
    expect([1, 2, 3, 9].map((failures) => waitAfter(refusal(503), 2_000, failures))).toEqual([
      ...[2_000, 4_000, 8_000, 30_000],
    ]);
    expect(waitAfter(refusal(503), 60_000, 9)).toBe(60_000);
  });

  it('has that interval on every page', async () => {
    const client = createQueryClient();
    client.mount();
    let error: ApiError | undefined = refusal(503, 40);
    const observer = new QueryObserver(client, {
      queryKey: ['figures'],
      queryFn: () => (error ? Promise.reject(error) : Promise.resolve(1)),
      refetchInterval: 5_000,
    });
    const interval = () => {
      const { refetchInterval } = observer.options;
      return typeof refetchInterval === 'function' ? refetchInterval(observer.getCurrentQuery()) : refetchInterval;
    };
    await observer.refetch();
    expect(interval()).toBe(40_000);
    error = undefined;
    await observer.refetch();
    expect(interval()).toBe(5_000);
    client.unmount();
    client.clear();
  });

  it('is repeated by itself where nothing is shown, on pages without an interval too', async () => {
    const client = createQueryClient();
    client.mount();
    let error: Error | undefined;
    const observer = new QueryObserver(client, {
      queryKey: ['keys'],
      queryFn: () => {
        if (error) throw error;
        return 1;
      },
      retry: false,
    });
    const intervalAfter = async (next: Error | undefined) => {
      error = next;
      await observer.refetch();
      const { refetchInterval } = observer.options;
      return typeof refetchInterval === 'function' ? refetchInterval(observer.getCurrentQuery()) : refetchInterval;
    };
    expect(await intervalAfter(refusal(429, 3))).toBe(3_000);
    expect(await intervalAfter(refusal(503))).toBe(4_000);
    expect(await intervalAfter(refusal(0))).toBe(8_000);
    expect(await intervalAfter(refusal(404))).toBe(false);
    expect(await intervalAfter(undefined)).toBe(false);
    // What is shown stays as it is until the page is opened again, or the user asks.
    expect(await intervalAfter(refusal(503))).toBe(false);
    client.unmount();
    client.clear();
  });
});

describe('the interval of what seldom changes', () => {
  it('grows while there is no change, and is short again after one', () => {
    const interval = slowing(10_000, 60_000);
    const data = { total: 1 };
    const at = (seconds: number) => interval({ state: { data, dataUpdatedAt: seconds * 1_000 } });
    expect([100, 110, 130, 170].map(at)).toEqual([10_000, 10_000, 30_000, 60_000]);
    expect(interval({ state: { data: { total: 2 }, dataUpdatedAt: 200_000 } })).toBe(10_000);
    expect(interval({ state: { data: undefined, dataUpdatedAt: 0 } })).toBe(10_000);
  });
});
