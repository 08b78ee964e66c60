import { decrypt, DecryptionError, deriveEncryptionKey, encrypt, type EncryptionKey, keyIdOf } from './encryption';

/** The master key that encrypts, and the one before it, which still decrypts while the key is being changed. */
export interface MasterKeys {
  /** 32 random bytes. */
  readonly masterKey: Buffer;
  readonly previousMasterKey?: Buffer | undefined;
}

/** The keys of one purpose: encrypts with the present one and decrypts with the one before as well. */
export class Keyring {
  private readonly current: EncryptionKey;
  private readonly keys: ReadonlyMap<number, EncryptionKey>;

  /** @param purpose as in `deriveKey` */
  constructor(purpose: string, { masterKey, previousMasterKey }: MasterKeys) {
    this.current = deriveEncryptionKey(masterKey, purpose);
    const previous = previousMasterKey ? [deriveEncryptionKey(previousMasterKey, purpose)] : [];
    this.keys = new Map([...previous, this.current].map((key) => [key.id, key]));
  }

  encrypt(plain: Buffer, context: string): Buffer {
    return encrypt(plain, this.current, context);
  }

  /** @throws DecryptionError when no key of the ring has encrypted it, it belongs elsewhere, or it has been altered */
  decrypt(encrypted: Buffer, context: string): Buffer {
    const key = this.keyOf(encrypted);
    if (!key) throw new DecryptionError('Encrypted with another key');
    return decrypt(encrypted, key, context);
  }

  /** Whether a key of the ring has encrypted it, by the id that it carries; whether it decrypts is another question. */
  knows(encrypted: Buffer): boolean {
    return this.keyOf(encrypted) !== undefined;
  }

  /** Whether it is encrypted under the present master key. */
  isCurrent(encrypted: Buffer): boolean {
    return this.keyOf(encrypted) === this.current;
  }

  private keyOf(encrypted: Buffer): EncryptionKey | undefined {
    const id = keyIdOf(encrypted);
    return id === undefined ? undefined : this.keys.get(id);
  }
}
