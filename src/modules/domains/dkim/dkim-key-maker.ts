import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import { AppConfig } from '../../../config/config';
import type { DkimKey } from './dkim-key.entity';
import { type DkimKeyPair, generateDkimKeyPair } from './dkim-key-pair';
import { FIRST_SELECTOR, nextSelector } from './dkim-selectors';
import { DkimVault } from './dkim-vault';

type Owner = Pick<DkimKey, 'organizationId' | 'domainId'>;

/** Makes the keys of domains: first the pair, outside of any transaction, then the row that holds it sealed. */
@Injectable()
export class DkimKeyMaker {
  constructor(
    private readonly vault: DkimVault,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  generate(): Promise<DkimKeyPair> {
    return generateDkimKeyPair();
  }

  /** A new domain's key: nothing else could sign, so it does from the start. */
  first(pair: DkimKeyPair, owner: Owner): DkimKey {
    return this.seal(pair, { ...owner, selector: FIRST_SELECTOR }, 'active');
  }

  /** The key that takes over once its record has been seen; undefined when both selectors of a zone are taken. */
  successor(pair: DkimKeyPair, owner: Owner, keys: readonly Pick<DkimKey, 'selector'>[]): DkimKey | undefined {
    const taken = keys.map((key) => key.selector);
    const selector = nextSelector(taken, this.config.dns.dkimZone !== undefined);
    return selector === undefined ? undefined : this.seal(pair, { ...owner, selector }, 'pending');
  }

  private seal(
    { privateKey, publicKey }: DkimKeyPair,
    owner: Owner & Pick<DkimKey, 'selector'>,
    state: DkimKey['state'],
  ): DkimKey {
    const privateKeySealed = this.vault.seal(privateKey, owner);
    return { ...owner, privateKeySealed, publicKey, state, createdAt: this.clock.now(), expiresAt: null };
  }
}
