import type { TlsaDemand } from '../smtp/tlsa';
import type { MtaStsState } from './mta-sts.service';

/** A host has one or two for each of its keys. */
const MAX_RECORDS = 20;
/** A digest has 128; whole certificates are cut, and the host knows them. */
const MAX_DATA_CHARACTERS = 2_000;

/** A policy (MTA-STS) as its domain has published it, one field a line, as reports on TLS tell it (RFC 8460 section 4.4). */
export function textOfPolicy({ mode, mx, maxAgeSeconds }: NonNullable<MtaStsState['policy']>): string {
  const hosts = mx.map((host) => `mx: ${host}`);
  const age = maxAgeSeconds === undefined ? [] : [`max_age: ${maxAgeSeconds}`];
  return ['version: STSv1', `mode: ${mode}`, ...hosts, ...age].join('\n');
}

/** TLSA records as zones are written (RFC 6698 section 2.2), one a line. */
export function textOfRecords({ records }: Pick<TlsaDemand, 'records'>): string {
  const lines = records.slice(0, MAX_RECORDS).map(({ usage, selector, matchingType, data }) => {
    const hex = data.toString('hex').toUpperCase().slice(0, MAX_DATA_CHARACTERS);
    return `${usage} ${selector} ${matchingType} ${hex}`;
  });
  return lines.sort().join('\n');
}
