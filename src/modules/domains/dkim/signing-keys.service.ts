import type { KeyObject } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../../common/bounded-cache';
import { Clock, MINUTE, SECOND } from '../../../common/clock';
import { reasonOf } from '../../../common/errors/app-error';
import { type KeyState, type SigningKey, SigningKeySource } from '../../../delivery/ports/sources';
import { DkimKeyring, parsePrivateKey } from './dkim-keyring';
import type { PauseReason } from '../registry/domain.entity';
import type { DkimKey } from './dkim-key.entity';
import { DkimKeysRepository } from './dkim-keys.repository';
import { DomainsRepository, type Sender } from '../registry/domains.repository';
import { returnPathHostOf, trackingHostOf } from '../registry/wanted-records';

type Owner = { readonly organizationId: string; readonly domainId: string };

/** A rotation, a removal, a pause or a verified record takes effect within this time. */
const CACHE_MS = 5 * SECOND;
/** A key that cannot be decrypted is logged once per this time. */
const CACHE_DAMAGED_MS = MINUTE;
const MAX_DOMAINS = 10_000;

/** Signing keys: rows are cached for some seconds, and each key is decrypted and parsed once. */
@Injectable()
export class SigningKeysService extends SigningKeySource {
  private readonly logger = new Logger(SigningKeysService.name);
  private readonly cache: LRUCache<string, KeyState>;
  /** Parsed private keys, by public key. */
  private readonly parsed = new LRUCache<string, KeyObject>(atMost(MAX_DOMAINS));

  constructor(
    private readonly domains: DomainsRepository,
    private readonly keys: DkimKeysRepository,
    private readonly keyring: DkimKeyring,
    clock: Clock,
  ) {
    super();
    this.cache = new LRUCache({ ...atMost(MAX_DOMAINS), ttl: CACHE_MS, perf: { now: () => clock.monotonicMs() } });
  }

  async keysFor(owners: readonly Owner[]): Promise<Map<string, KeyState>> {
    const found = new Map<string, KeyState>();
    // All entries are read before the query: an entry that expires in between must not look like a removed domain.
    for (const { domainId } of owners) {
      const key = this.cache.get(domainId);
      if (key) found.set(domainId, key);
    }
    const missing = owners.filter(({ domainId }) => !found.has(domainId));
    const loaded = missing.length > 0 ? await this.load(missing) : [];
    return new Map([...found, ...loaded]);
  }

  private async load(owners: readonly Owner[]): Promise<[string, KeyState][]> {
    const senders = new Map((await this.findSenders(owners)).map((domain) => [domain.id, domain]));
    return (await this.keys.findActive(owners)).flatMap((row) => {
      const sender = senders.get(row.domainId);
      if (sender === undefined) return [];
      const key =
        sender.sending.status === 'paused' ? { whyPaused: whyPaused(sender) } : this.signingKeyOf(row, sender);
      this.cache.set(row.domainId, key, { ttl: key instanceof Error ? CACHE_DAMAGED_MS : CACHE_MS });
      return [[row.domainId, key]];
    });
  }

  /**
   * A domain that has failed goes on sending what was accepted, until another organization has verified its name: that one's records
   * would make the mail pass as its own.
   */
  private async findSenders(owners: readonly Owner[]): Promise<Sender[]> {
    const senders = await this.domains.findSenders(owners);
    const failed = senders.filter(({ verificationStatus }) => verificationStatus !== 'verified');
    const taken = new Set(failed.length > 0 ? await this.domains.verifiedNamesAmong(failed) : []);
    return senders.filter((sender) => !(failed.includes(sender) && taken.has(sender.domain)));
  }

  /** Returns the error for a damaged key, which must delay only its own domain's mail. */
  private signingKeyOf(key: DkimKey, sender: Sender): SigningKey | Error {
    const { domain, returnPathVerified, trackingVerified, requiresTls } = sender;
    try {
      const privateKey =
        this.parsed.get(key.publicKey) ?? parsePrivateKey(this.keyring.decrypt(key.encryptedPrivateKey, key));
      this.parsed.set(key.publicKey, privateKey);
      const returnPathHost = returnPathVerified ? returnPathHostOf(domain) : undefined;
      const trackingHost = trackingVerified ? trackingHostOf(domain) : undefined;
      return { domain, selector: key.selector, privateKey, returnPathHost, trackingHost, requiresTls };
    } catch (error) {
      this.logger.error(
        `The DKIM key ${key.selector} of domain ${key.domainId} cannot be decrypted: ${reasonOf(error)}`,
      );
      return error as Error;
    }
  }
}

const CAUSE_OF_PAUSE: Readonly<Record<PauseReason | 'operator', string>> = {
  bounces: 'too much of its mail has bounced',
  complaints: 'too many of its recipients have complained',
  operator: 'by the operator of this service',
};

/** Why mail is not sent, with the operator's note, as shown to the sender. */
function whyPaused({ domain, sending: { reason, note, since } }: Sender): string {
  const when = since ? ` since ${since.toISOString().slice(0, 19)}Z` : '';
  const causes = [reason && CAUSE_OF_PAUSE[reason], reason === 'operator' && note].filter(Boolean);
  return [`Sending from ${domain} is paused${when}`, ...causes].join(': ');
}
