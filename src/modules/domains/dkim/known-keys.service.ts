import { Injectable } from '@nestjs/common';
import { KnownKeysRepository } from './known-keys.repository';
import type { KnownKey } from './sql/find-key-by-name.sql';

/** DNS names are no longer; a selector is one or more labels of ours. */
const MAX_NAME = 253;
const NAME = /^[a-z0-9_.-]+$/i;

/** Public keys by the name that a signature gives, to recognise mail of our own. */
@Injectable()
export class KnownKeysService {
  constructor(private readonly keys: KnownKeysRepository) {}

  /**
   * The key and whose it is; undefined for a name that is not a verified domain's, or whose key is no longer kept.
   * @throws UnavailableError
   */
  async find(domain: string, selector: string): Promise<KnownKey | undefined> {
    if (![domain, selector].every((name) => name.length <= MAX_NAME && NAME.test(name))) return undefined;
    return this.keys.find(domain, selector);
  }
}

export type { KnownKey };
