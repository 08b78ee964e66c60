import { loopTurnsOf } from '../../../test/setup/loop-turns';
import { findParts, PART_LIMITS } from './message-parts';

describe('findParts', () => {
  it('lets others have their turn between small parts with long headers', async () => {
    const part = `--b\r\n${'X: y\r\n'.repeat(8_000)}`;
    const message = Buffer.from(
      `Content-Type: multipart/mixed; boundary=b\r\n\r\n${part.repeat(PART_LIMITS.parts)}--b--\r\n`,
    );
    let found: Awaited<ReturnType<typeof findParts>> | undefined;
    const turns = await loopTurnsOf(async () => (found = await findParts(message)));
    expect(found?.parts).toHaveLength(PART_LIMITS.parts);
    // Of 24 MiB, with a turn for each MiB that is searched.
    expect(turns).toBeGreaterThan(24);
  });
});
