import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { Injectable } from '@nestjs/common';
import { FairLimit } from '../../../common/async/fair-turns';
import { Clock } from '../../../common/clock';
import { Keyring } from '../../../common/encryption/encryption';
import { clientGone } from '../../../common/tenant';
import { AppConfig } from '../../../config/config';
import { ALTERNATING_SELECTORS } from '../registry/wanted-records';
import type { DkimKey } from './dkim-key.entity';

export type KeyOwner = Pick<DkimKey, 'organizationId' | 'domainId' | 'selector'>;

/**
 * Encrypts private DKIM keys under the master key, and decrypts them under the current and the previous one. The owner is
 * authenticated data of the ciphertext, so that a copy in another domain's row does not decrypt.
 */
@Injectable()
export class DkimKeyring {
  private readonly keyring: Keyring;

  constructor({ masterKey, previousMasterKey }: AppConfig) {
    this.keyring = new Keyring('dkim-private-keys', { masterKey, previousMasterKey });
  }

  encrypt(privateKey: Buffer, owner: KeyOwner): Buffer {
    return this.keyring.encrypt(privateKey, contextOf(owner));
  }

  /** @throws DecryptionError */
  decrypt(encrypted: Buffer, owner: KeyOwner): Buffer {
    return this.keyring.decrypt(encrypted, contextOf(owner));
  }

  /** Whether it is encrypted under one of the two master keys; a damaged ciphertext may still fail to decrypt. */
  knows(encrypted: Buffer): boolean {
    return this.keyring.knows(encrypted);
  }

  /** Whether it is encrypted under the current master key. */
  isCurrent(encrypted: Buffer): boolean {
    return this.keyring.isCurrent(encrypted);
  }
}

function contextOf({ organizationId, domainId, selector }: KeyOwner): string {
  return `${organizationId}|${domainId}|${selector}`;
}

type Owner = Pick<DkimKey, 'organizationId' | 'domainId'>;

export interface DkimKeyPair {
  /** PKCS #8, DER. */
  readonly privateKey: Buffer;
  /** Base64 of the SubjectPublicKeyInfo: the `p=` of the DNS record (RFC 6376 section 3.6.1). */
  readonly publicKey: string;
}

const RSA_BITS = 2048;
const NUMBERED = /^wb(\d+)$/;
/** The selector of a domain's first key, with and without a delegated zone. */
const FIRST_SELECTOR = ALTERNATING_SELECTORS[0];

/** Generates the keys of domains: first the pair, outside of any transaction, then the row that holds it encrypted. */
@Injectable()
export class DkimKeyGenerator {
  private readonly turns = new FairLimit(1);

  constructor(
    private readonly keyring: DkimKeyring,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /**
   * Generates a pair; the process runs one generation at a time, round robin over the organizations. A key takes 100 ms of CPU
   * time on one of the four threads that file access and DNS lookups share; sixty at once delayed other requests by seconds.
   * @throws TooManyAtATimeError when too many keys of this organization wait
   */
  generate(organizationId: string): Promise<DkimKeyPair> {
    return this.turns.run(organizationId, () => this.makePair(), clientGone());
  }

  /** Runs in libuv's thread pool, so that the event loop is not blocked. */
  protected async makePair(): Promise<DkimKeyPair> {
    const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', {
      modulusLength: RSA_BITS,
      publicKeyEncoding: { type: 'spki', format: 'der' },
      privateKeyEncoding: { type: 'pkcs8', format: 'der' },
    });
    return { privateKey, publicKey: publicKey.toString('base64') };
  }

  /** A new domain's first key. It is active from the start, since there is no other to sign. */
  first(pair: DkimKeyPair, owner: Owner): DkimKey {
    return this.encrypt(pair, { ...owner, selector: FIRST_SELECTOR }, 'active');
  }

  /** A pending key, which becomes active once its record is found; undefined when both selectors of a zone are taken. */
  successor(pair: DkimKeyPair, owner: Owner, keys: readonly Pick<DkimKey, 'selector'>[]): DkimKey | undefined {
    const taken = keys.map((key) => key.selector);
    const selector = nextSelector(taken, this.config.dns.dkimZone !== undefined);
    return selector === undefined ? undefined : this.encrypt(pair, { ...owner, selector }, 'pending');
  }

  private encrypt(
    { privateKey, publicKey }: DkimKeyPair,
    owner: Owner & Pick<DkimKey, 'selector'>,
    state: DkimKey['state'],
  ): DkimKey {
    const encryptedPrivateKey = this.keyring.encrypt(privateKey, owner);
    return { ...owner, encryptedPrivateKey, publicKey, state, createdAt: this.clock.now(), expiresAt: null };
  }
}

/** Reads a private key in DER, PKCS #8. @throws Error for other bytes */
export function parsePrivateKey(der: Buffer): KeyObject {
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
}

/**
 * The selector of a new key: in a delegated zone the free one of the two, otherwise one that the domain has not had before,
 * because resolvers may still cache an earlier record.
 * @param taken the selectors of all keys of the domain
 * @returns undefined when both are taken
 */
export function nextSelector(taken: readonly string[], isDelegated: boolean): string | undefined {
  if (isDelegated) return ALTERNATING_SELECTORS.find((selector) => !taken.includes(selector));
  const numbers = taken.map((selector) => Number(NUMBERED.exec(selector)?.[1] ?? 0));
  return `wb${Math.max(0, ...numbers) + 1}`;
}
