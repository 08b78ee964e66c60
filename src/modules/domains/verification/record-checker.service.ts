import { Injectable } from '@nestjs/common';
import { DnsResolver } from '../../../common/dns/dns-resolver';
import type { DkimKey } from '../dkim/dkim-key.entity';
import type { RecordCheck, WantedRecord } from '../dns-record';
import { checkAlias } from './check-alias';
import { checkDelegatedKey } from './check-delegated-key';
import { checkDmarc } from './check-dmarc';
import { DomainLookups } from './domain-lookups';
import { judgeDkim } from './judge-dkim';
import { judgeVerification } from './judge-verification';
import { checkSpf } from './spf/check-spf';
import { parseSpf } from './spf/parse-spf';
import { parseTagList } from './tag-list';

type PublishedKey = Pick<DkimKey, 'selector' | 'publicKey'>;

/** Compares wanted records with live DNS. Changes nothing and keeps nothing. */
@Injectable()
export class RecordChecker {
  constructor(private readonly resolver: DnsResolver) {}

  /**
   * One check per record, in their order, within ten seconds and forty look-ups. Never throws for what the DNS says.
   * @param keys with a delegated zone, the keys that must be seen through the aliases of their selectors
   */
  check(records: readonly WantedRecord[], domain: string, keys: readonly PublishedKey[] = []): Promise<RecordCheck[]> {
    const lookups = new DomainLookups(this.resolver);
    return Promise.all(records.map((record) => this.checkOne(record, domain, keys, lookups)));
  }

  private async checkOne(
    record: WantedRecord,
    domain: string,
    keys: readonly PublishedKey[],
    lookups: DomainLookups,
  ): Promise<RecordCheck> {
    switch (record.purpose) {
      case 'verification':
        return judgeVerification(record, await lookups.txt(record.host));
      case 'dkim':
        if (record.type === 'CNAME') return checkDelegatedKey(record, keyAt(record.host, keys), lookups);
        return judgeDkim(record.host, parseTagList(record.value)?.get('p') ?? '', await lookups.txt(record.host));
      case 'spf':
        return checkSpf(domain, includeOf(record), (name) => lookups.txt(name));
      case 'dmarc':
        return checkDmarc(record, domain, lookups);
      case 'return_path':
      case 'tracking':
        return checkAlias(record, lookups);
    }
  }
}

function keyAt(host: string, keys: readonly PublishedKey[]): string | undefined {
  return keys.find((key) => host.startsWith(`${key.selector}.`))?.publicKey;
}

function includeOf({ value }: WantedRecord): string {
  const parsed = parseSpf(value);
  return (parsed.ok && parsed.record.find((term) => term.name === 'include')?.value) || '';
}
