import { DecryptionError } from './encryption';
import { decryptWithPassphrase, type PassphraseEncrypted, encryptWithPassphrase } from './passphrase';

const CHEAP = { n: 1_024, r: 8, p: 1 };
const secret = Buffer.alloc(32, 3);

describe('a secret under a pass phrase', () => {
  it('opens with it, however its letters are composed, and never shows itself', async () => {
    const sealed = await encryptWithPassphrase(secret, 'caf\u00e9 and more words', 'master-key', CHEAP);
    expect(await decryptWithPassphrase(sealed, 'cafe\u0301 and more words', 'master-key')).toEqual(secret);
    expect(JSON.stringify(sealed)).not.toContain(secret.toString('base64').slice(0, 20));
    expect((await encryptWithPassphrase(secret, 'x', 'master-key', CHEAP)).sealed).not.toBe(sealed.sealed);
  });

  it('does not open with another, for another purpose, altered, or at any price', async () => {
    const sealed = await encryptWithPassphrase(secret, 'right', 'master-key', CHEAP);
    const altered = Buffer.from(sealed.sealed, 'base64');
    altered[0] = (altered[0] ?? 0) ^ 1;
    const bad: [sealed: PassphraseEncrypted, passphrase: string, context: string][] = [
      [sealed, 'wrong', 'master-key'],
      [sealed, 'right', 'another-key'],
      [{ ...sealed, sealed: altered.toString('base64') }, 'right', 'master-key'],
      [{ ...sealed, sealed: '' }, 'right', 'master-key'],
      [{ ...sealed, n: 2 ** 30 }, 'right', 'master-key'],
    ];
    for (const attempt of bad) await expect(decryptWithPassphrase(...attempt)).rejects.toThrow(DecryptionError);
  });
});
