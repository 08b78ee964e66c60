import { Logger } from '@nestjs/common';
import type { SchedulerRegistry } from '@nestjs/schedule';
import { FakeClock } from '../../../../test/doubles/fake-clock';
import type { OrganizationsService } from '../../../auth/organizations/organizations.service';
import { UnavailableError } from '../../../common/errors/app-error';
import { newId } from '../../../common/ids';
import { type JobStore, PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import type { Metrics } from '../../../common/metrics/metrics';
import type { AppConfig } from '../../../config/config';
import { ContentRemovalJob } from './retention.job';
import type { RetentionRepository } from './retention.repository';
import type { ContentPage, DeletedContents } from './sql/retention.sql';

/** Contents by organization, of which only so many can be deleted within the time limit of a statement. */
function removalOf(contents: Map<string, string[]>, most: (organizationId: string) => number): ContentRemovalJob {
  const clock = new FakeClock();
  const deleteContents = (page: ContentPage, limit: number): Promise<DeletedContents> => {
    const stored = page.mode === 'live' ? (contents.get(page.organizationId) ?? []) : [];
    const examined = stored.slice(0, limit);
    if (examined.length > most(page.organizationId)) {
      const cause = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });
      return Promise.reject(new UnavailableError('The database is temporarily unavailable', cause));
    }
    stored.splice(0, examined.length);
    return Promise.resolve({ examined: examined.length, lastId: examined.at(-1) ?? null, deleted: examined.length });
  };
  const organizations = { list: () => Promise.resolve([...contents.keys()].map((id) => ({ id }))) };
  return new ContentRemovalJob(
    { deleteContents } as unknown as RetentionRepository,
    organizations as unknown as OrganizationsService,
    new PeriodicJobs({} as Metrics, {} as SchedulerRegistry, {} as JobStore, false, clock),
    { retention: { contentDays: 30 } } as AppConfig,
    clock,
  );
}

describe('the removal of contents', () => {
  const [large, small] = [newId(), newId()];
  const some = (count: number) => Array.from({ length: count }, () => newId());
  beforeEach(() => jest.spyOn(Logger.prototype, 'error').mockImplementation());

  it('takes as many emails at a time as can be deleted in time', async () => {
    const contents = new Map([
      [large, some(2_500)],
      [small, some(10)],
    ]);
    const job = removalOf(contents, () => 70);
    expect(await job.run()).toBe(2_510);
    expect([...contents.values()]).toEqual([[], []]);
  });

  it('passes over an organization of which not even one can be deleted in time', async () => {
    const contents = new Map([
      [large, some(5)],
      [small, some(10)],
    ]);
    const job = removalOf(contents, (organizationId) => (organizationId === large ? 0 : Infinity));
    expect(await job.run()).toBe(10);
    expect(contents.get(large)).toHaveLength(5);
    expect(Logger.prototype.error).toHaveBeenCalledWith(expect.stringContaining(large));
  });
});
