import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { MINUTE } from '../../common/clock';
import { type SigningKey, SigningKeySource } from '../../delivery/ports/signing-key-source';
import { parsePrivateKey } from './dkim-key-pair';
import type { DkimKey } from './dkim-key.entity';
import { DkimVault } from './dkim-vault';
import { DomainsRepository } from './domains.repository';

type Owner = { readonly organizationId: string; readonly domainId: string };

/** A rotation or a removal is seen within this time. */
const CACHE_MS = MINUTE;

/** The keys to sign with, decrypted and parsed once and then kept for a minute. */
@Injectable()
export class SigningKeysService extends SigningKeySource {
  private readonly logger = new Logger(SigningKeysService.name);
  private readonly cache = new LRUCache<string, SigningKey | Error>({ max: 10_000, ttl: CACHE_MS });

  constructor(
    private readonly domains: DomainsRepository,
    private readonly vault: DkimVault,
  ) {
    super();
  }

  async keysFor(owners: readonly Owner[]): Promise<Map<string, SigningKey | Error>> {
    const missing = owners.filter(({ domainId }) => !this.cache.has(domainId));
    if (missing.length > 0) await this.load(missing);
    return new Map(
      owners.flatMap(({ domainId }) => {
        const key = this.cache.get(domainId);
        return key ? [[domainId, key] as const] : [];
      }),
    );
  }

  private async load(owners: readonly Owner[]): Promise<void> {
    const names = new Map((await this.domains.findNames(owners)).map((domain) => [domain.id, domain.domain]));
    for (const key of await this.domains.findActiveKeys(owners)) {
      const domain = names.get(key.domainId);
      if (domain === undefined) continue;
      this.cache.set(key.domainId, this.open(key, domain));
    }
  }

  /** A damaged key must hold up its own domain's mail and nobody else's. */
  private open(key: DkimKey, domain: string): SigningKey | Error {
    try {
      const privateKey = parsePrivateKey(this.vault.open(key.privateKeySealed, key));
      return { domain, selector: key.selector, privateKey };
    } catch (error) {
      this.logger.error(
        `The DKIM key ${key.selector} of domain ${key.domainId} cannot be opened: ${(error as Error).message}`,
      );
      return error as Error;
    }
  }
}
