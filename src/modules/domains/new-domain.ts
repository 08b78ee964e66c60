import { randomBytes } from 'node:crypto';
import type { DkimKey } from './dkim/dkim-key.entity';
import { type Domain, SENDING_FREELY } from './domain.entity';
import type { DomainName } from './domain-name';

const TOKEN_BYTES = 16;

/** The owner of a first key, of which nothing else is known yet; its first look-up is due at once. */
export function newDomain(key: DkimKey, { domain, subdomain }: DomainName): Domain {
  const { organizationId, domainId: id, createdAt: now } = key;
  return {
    organizationId,
    id,
    domain,
    subdomain,
    verificationStatus: 'pending',
    verificationToken: randomBytes(TOKEN_BYTES).toString('hex'),
    verifiedAt: null,
    dkimSelector: key.selector,
    dkimStatus: 'pending',
    warmingStatus: 'not_started',
    warmingStartedAt: null,
    warmingPausedAt: null,
    warmingPauseReason: null,
    warmingJudgedSince: null,
    sending: { ...SENDING_FREELY },
    nextCheckAt: now,
    lastCheckedAt: null,
    verificationFailingSince: null,
    dkimFailingSince: null,
    returnPathVerified: false,
    trackingVerified: false,
    reputationScore: null,
    isDefault: false,
    createdAt: now,
    updatedAt: now,
  };
}
