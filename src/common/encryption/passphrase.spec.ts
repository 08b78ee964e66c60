import { DecryptionError } from './encryption';
import { openWithPassphrase, sealWithPassphrase } from './passphrase';

const CHEAP = { n: 1_024, r: 8, p: 1 };
const secret = Buffer.alloc(32, 3);

describe('a secret under a pass phrase', () => {
  it('opens with it, however its letters are composed, and never shows itself', async () => {
    const sealed = await sealWithPassphrase(secret, 'caf\u00e9 and more words', 'master-key', CHEAP);
    expect(await openWithPassphrase(sealed, 'cafe\u0301 and more words', 'master-key')).toEqual(secret);
    expect(JSON.stringify(sealed)).not.toContain(secret.toString('base64').slice(0, 20));
    expect((await sealWithPassphrase(secret, 'x', 'master-key', CHEAP)).sealed).not.toBe(sealed.sealed);
  });

  it('does not open with another, for another purpose, altered, or at any price', async () => {
    const sealed = await sealWithPassphrase(secret, 'right', 'master-key', CHEAP);
    const altered = Buffer.from(sealed.sealed, 'base64');
    altered[0] = (altered[0] ?? 0) ^ 1;
    for (const attempt of [
      openWithPassphrase(sealed, 'wrong', 'master-key'),
      openWithPassphrase(sealed, 'right', 'another-key'),
      openWithPassphrase({ ...sealed, sealed: altered.toString('base64') }, 'right', 'master-key'),
      openWithPassphrase({ ...sealed, sealed: '' }, 'right', 'master-key'),
      openWithPassphrase({ ...sealed, n: 2 ** 30 }, 'right', 'master-key'),
    ]) {
      await expect(attempt).rejects.toThrow(DecryptionError);
    }
  });
});
