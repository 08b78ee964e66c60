import { waitFor } from '../../setup/wait-for';
import type { faultyNetwork } from './faulty-network';

export async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

type Through = (...answers: Response[]) => { client: any; requests: ReturnType<typeof faultyNetwork>['requests'] };

/** @param service a client of one that has sent mail; a transaction of a job that is still open holds its feed back */
export async function feedStory(service: any): Promise<void> {
  const read = () => allOf<{ data: { eventId: string } }>(service.events.pullAll({ limit: 2 }));
  await waitFor(async () => (await read()).length > 2, { what: 'the feed' });
  const ids = (await read()).map(({ data }) => data.eventId);
  expect(new Set(ids).size).toBe(ids.length);
}

/**
 * Statistics have neither cursors nor ids: the walk goes on by offset while the service says that there is more.
 * @param service a client of one that has sent mail from acme.example
 */
export async function domainsStory(through: Through, service: any): Promise<void> {
  const domains = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ domain: `${name}.example` }));
  const { requests, client } = through(
    Response.json({ data: { domains: domains.slice(0, 3), hasMore: true } }),
    Response.json({ data: { domains: domains.slice(3), hasMore: false } }),
  );
  const period = { start_date: '2026-11-01', end_date: '2026-12-01' };
  expect(await allOf(client.stats.byDomainAll({ ...period, offset: 1 }))).toEqual(domains);
  expect(requests.map(({ url }) => new URL(url).searchParams.get('offset'))).toEqual(['1', '4']);
  const today = { start_date: new Date(Date.now() - 3_600_000), end_date: new Date(Date.now() + 3_600_000) };
  expect(await allOf(service.stats.byDomainAll(today))).toMatchObject([{ domain: 'acme.example' }]);
}
