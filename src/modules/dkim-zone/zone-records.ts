import type { DnsConfig } from '../../config/config';
import { TYPES } from './dns-query';
import type { OwnedRecord, Reply } from './dns-reply';

const TTL_SECONDS = 300;
const NAME_SERVER_TTL_SECONDS = 3_600;
/** How long resolvers remember that a name is absent: a rotation brings back one that was. */
const NEGATIVE_TTL_SECONDS = 60;
const MAX_STRING_BYTES = 255;

/** The labels of a zone and the records at its apex. */
export class ZoneRecords {
  /** In lower case. */
  readonly labels: readonly string[];
  private readonly nameServers: readonly string[];

  constructor({ nameServerHosts }: Pick<DnsConfig, 'nameServerHosts'>, zone: string) {
    this.labels = zone.split('.');
    this.nameServers = nameServerHosts;
  }

  /**
   * The zone's own records; types that it has not are NODATA.
   * @param skipLabels labels of the question before the zone's
   */
  apex(type: number, skipLabels: number): Reply {
    if (type === TYPES.SOA) return this.found([this.startOfAuthority(skipLabels, NAME_SERVER_TTL_SECONDS)]);
    if (type === TYPES.NS) return this.found(this.nameServers.map((data) => nameServer(data, skipLabels)));
    return type === TYPES.ANY ? this.found([refusalOfAny()]) : this.absent('NOERROR', skipLabels);
  }

  /** A name whose only record is a text. */
  text(type: number, text: string, skipLabels: number): Reply {
    if (type === TYPES.TXT) return this.found([textRecord(text)]);
    return type === TYPES.ANY ? this.found([refusalOfAny()]) : this.absent('NOERROR', skipLabels);
  }

  /** NXDOMAIN, or NODATA with NOERROR; either is remembered as long as the SOA says (RFC 2308 section 3). */
  absent(rcode: 'NOERROR' | 'NXDOMAIN', skipLabels: number): Reply {
    const authorities = [this.startOfAuthority(skipLabels, NEGATIVE_TTL_SECONDS)];
    return { rcode, authoritative: true, answers: [], authorities };
  }

  private found(answers: readonly OwnedRecord[]): Reply {
    return { rcode: 'NOERROR', authoritative: true, answers, authorities: [] };
  }

  /** The serial never moves: every process has to say the same, and no one transfers this zone. */
  private startOfAuthority(skipLabels: number, ttl: number): OwnedRecord {
    const [mname = '.'] = this.nameServers;
    const times = { serial: 1, refresh: 3_600, retry: 600, expire: 604_800, minimum: NEGATIVE_TTL_SECONDS };
    return { skipLabels, data: { type: 'SOA', ttl, data: { mname, rname: `hostmaster.${mname}`, ...times } } };
  }
}

function nameServer(data: string, skipLabels: number): OwnedRecord {
  return { skipLabels, data: { type: 'NS', ttl: NAME_SERVER_TTL_SECONDS, data } };
}

/** One record in strings of at most 255 bytes (RFC 1035 section 3.3.14). */
function textRecord(text: string): OwnedRecord {
  const data = text.match(new RegExp(`.{1,${MAX_STRING_BYTES}}`, 'g')) ?? [''];
  return { skipLabels: 0, data: { type: 'TXT', ttl: TTL_SECONDS, data } };
}

/** Instead of all there is (RFC 8482 section 4.2): only attackers need it, to have a large reply sent elsewhere. */
function refusalOfAny(): OwnedRecord {
  return { skipLabels: 0, data: { type: 'HINFO', ttl: TTL_SECONDS, data: { cpu: 'RFC8482', os: '' } } };
}
