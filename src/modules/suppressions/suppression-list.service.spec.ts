import type { AuditService } from '../../audit/audit.service';
import { SystemClock } from '../../common/clock';
import { DiskSpace } from '../../common/disk-space';
import type { Database } from '../../database/pool/database.service';
import type { Transaction } from '../../database/statements/transaction';
import type { AddressHashing } from './address-hashing.service';
import { SuppressionListService } from './suppression-list.service';
import type { SuppressionsRepository } from './suppressions.repository';

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('additions to suppression lists', () => {
  it('are made in one transaction of an organization at a time, and in two of all', async () => {
    const open: { organizationId: string; end: () => void }[] = [];
    const insert = ({ organizationId }: { organizationId: string }) =>
      new Promise<Set<string>>((resolve) => open.push({ organizationId, end: () => resolve(new Set()) }));
    const database = { transaction: (work: (tx: Transaction) => unknown) => work({} as Transaction) };
    const lists = new SuppressionListService(
      { insert } as unknown as SuppressionsRepository,
      {} as AddressHashing,
      {} as AuditService,
      database as unknown as Database,
      new SystemClock(),
      new DiskSpace({ folders: [], reserveBytes: 0 }),
    );
    const add = (organizationId: string, email: string) =>
      lists.addMany({ organizationId, mode: 'live' }, [{ email, reason: 'manual' }], 'test');
    const additions = Array.from({ length: 30 }, (_, i) => add('loud', `${i}@a.test`));
    additions.push(add('quiet', 'a@b.test'), add('third', 'a@b.test'));
    const order: string[] = [];
    while (order.length < additions.length) {
      await settled();
      expect(open.length).toBeLessThanOrEqual(2);
      expect(open.filter(({ organizationId }) => organizationId === 'loud').length).toBeLessThanOrEqual(1);
      const next = open.shift();
      if (!next) throw new Error('nothing goes on');
      order.push(next.organizationId);
      next.end();
    }
    await Promise.all(additions);
    expect(order.slice(0, 4)).toEqual(expect.arrayContaining(['quiet', 'third']));
  });
});
