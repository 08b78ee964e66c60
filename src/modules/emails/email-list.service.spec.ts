import type { StatsService } from '../stats/stats.service';
import { EmailListService } from './email-list.service';
import type { EmailListsRepository, FoundEmails } from './emails.repository';

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('searches of emails', () => {
  it('run one at a time of an organization, beside those of others', async () => {
    const running: { organizationId: string; end: () => void }[] = [];
    const search = ({ organizationId }: { organizationId: string }) =>
      new Promise<FoundEmails>((resolve) =>
        running.push({ organizationId, end: () => resolve({ ids: [], total: 0, stoppedAt: undefined }) }),
      );
    const emails = { search, findAll: () => Promise.resolve([]) } as unknown as EmailListsRepository;
    const lists = new EmailListService(emails, {} as StatsService);
    const start = (organizationId: string) =>
      lists.page({ organizationId, mode: 'live' }, { subject: 'order' }, { page: 1, limit: 10 });
    const searches = [...Array.from({ length: 40 }, () => start('loud')), start('quiet')];
    for (const expected of [['loud', 'quiet'], ...Array.from({ length: 39 }, () => ['loud'])]) {
      await settled();
      expect(running.map(({ organizationId }) => organizationId)).toEqual(expected);
      for (const { end } of running.splice(0)) end();
    }
    expect((await Promise.all(searches)).map(({ total }) => total)).toEqual(searches.map(() => 0));
  });
});
