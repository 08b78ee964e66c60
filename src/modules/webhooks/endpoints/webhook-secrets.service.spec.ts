import { randomBytes } from 'node:crypto';
import { HOUR } from '../../../common/clock';
import type { AppConfig } from '../../../config/config';
import { FakeClock } from '../../../../test/doubles/fake-clock';
import { showSecret, WebhookSecrets } from './webhook-secrets.service';

const OWNER = { organizationId: 'org', mode: 'live', id: 'one' };
const clock = new FakeClock();
const secretsOf = (masterKey: Buffer, previousMasterKey?: Buffer) =>
  new WebhookSecrets({ masterKey, previousMasterKey } as Partial<AppConfig> as AppConfig, clock);

describe('WebhookSecrets', () => {
  const masterKey = randomBytes(32);
  const secrets = secretsOf(masterKey);

  it('makes secrets of 32 bytes and shows them as Standard Webhooks does', () => {
    const secret = secrets.create();
    expect(secret).toHaveLength(32);
    expect(showSecret(secret)).toBe(`whsec_${secret.toString('base64')}`);
    expect(secrets.create().equals(secret)).toBe(false);
  });

  it('decrypts what it has encrypted for the same endpoint, and for no other', () => {
    const encrypted = secrets.encrypt(Buffer.from('secret'), OWNER);
    expect(secrets.decrypt(encrypted, OWNER).toString()).toBe('secret');
    for (const other of [{ organizationId: 'other' }, { mode: 'test' }, { id: 'two' }]) {
      expect(() => secrets.decrypt(encrypted, { ...OWNER, ...other })).toThrow('encrypted for another context');
    }
  });

  it('decrypts what the previous master key has encrypted', () => {
    const encrypted = secrets.encrypt(Buffer.from('secret'), OWNER);
    const after = secretsOf(randomBytes(32), masterKey);
    expect(after.decrypt(encrypted, OWNER).toString()).toBe('secret');
    expect([after.isCurrent(encrypted), secrets.isCurrent(encrypted)]).toEqual([false, true]);
    expect(() => secretsOf(randomBytes(32)).decrypt(encrypted, OWNER)).toThrow('Encrypted with another key');
  });

  it('signs with the current secret, and with the one before as long as it is valid', () => {
    const [secret, previousSecret] = ['new', 'old'].map((text) => secrets.encrypt(Buffer.from(text), OWNER)) as [
      Buffer,
      Buffer,
    ];
    const inForce = (previousSecretUntil: Date | null, previous: Buffer | null = previousSecret) =>
      secrets.secretsInForce({ ...OWNER, secret, previousSecret: previous, previousSecretUntil }).map(String);
    expect(inForce(new Date(clock.now().getTime() + HOUR))).toEqual(['new', 'old']);
    expect(inForce(clock.now())).toEqual(['new']);
    expect(inForce(null, null)).toEqual(['new']);
  });
});
