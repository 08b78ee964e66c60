import { loopTurnsOf } from '../../../test/setup/loop-turns';
import { SuppressionImportService } from './suppression-import.service';
import type { SuppressionListService } from './suppression-list.service';

const owner = { organizationId: 'o', mode: 'live' } as const;

describe('an import', () => {
  const lists = { addMany: () => Promise.reject(new Error('no line is an address')) };
  const service = new SuppressionImportService(lists as unknown as SuppressionListService);

  it.each([
    ['blank lines', '\n'.repeat(100_000), 90],
    ['lines of one character', 'a\n'.repeat(100_000), 90],
    ['long lines', `${'a'.repeat(1_000)}\n`.repeat(4_000), 12],
  ])('lets others have their turn while it reads %s', async (_what, csv, turns) => {
    const wanted = { owner, form: 'waybill', csv, actor: 'test', keepReasons: false } as const;
    expect(await loopTurnsOf(() => service.import(wanted))).toBeGreaterThanOrEqual(turns);
  });
});
