import type { DnsAnswer } from '../../../common/dns/dns-resolver';
import type { RecordCheck } from '../dns-record';
import { shown, textsAt, VERIFIED, wrong } from './check-results';
import { firstTag, parseTagList } from './tag-list';

type Tags = ReadonlyMap<string, string>;

/**
 * A key record by the rules that a verifier applies (RFC 6376 section 3.6.1).
 * @param publicKey base64, as in `p=`
 */
export function judgeDkim(host: string, publicKey: string, answer: DnsAnswer<string>): RecordCheck {
  const records = textsAt(host, answer);
  if ('result' in records) return records;
  const [text, ...others] = records.filter(isKeyRecord);
  if (text === undefined) {
    return wrong(`The TXT record at ${host} is no DKIM key record: ${shown(records[0] ?? '')}`);
  }
  if (others.length > 0) {
    return wrong(`There is more than one DKIM record at ${host}; verifiers may take any of them`);
  }
  const problem = problemOf(parseTagList(text), publicKey);
  return problem === undefined ? VERIFIED : wrong(`The DKIM record at ${host} ${problem}`);
}

/** Meant as a key record, well made or not. */
function isKeyRecord(text: string): boolean {
  return /^"?\s*v\s*=\s*DKIM1/i.test(text) || parseTagList(text)?.has('p') === true;
}

/** Ends a sentence. */
function problemOf(tags: Tags | undefined, publicKey: string): string | undefined {
  if (tags === undefined) return 'is not a list of tags like "v=DKIM1; k=rsa; p=…"';
  return problemOfKey(tags.get('p'), publicKey) ?? problemOfUse(tags);
}

function problemOfKey(value: string | undefined, publicKey: string): string | undefined {
  const key = value?.replace(/\s/g, '');
  if (key === undefined) return 'has no p= tag';
  if (key === '') return 'is revoked: its p= tag is empty';
  if (key === publicKey) return undefined;
  if (publicKey.startsWith(key)) {
    return `is cut off: the key ends after ${key.length} of ${publicKey.length} characters`;
  }
  return 'has another key than this domain signs with';
}

/** Tags that keep a right key from being used for what we sign: rsa-sha256, mail. */
function problemOfUse(tags: Tags): string | undefined {
  if (tags.has('v') && (firstTag(tags) !== 'v' || tags.get('v') !== 'DKIM1')) return 'must begin with v=DKIM1';
  if ((tags.get('k') ?? 'rsa').toLowerCase() !== 'rsa') return 'must have k=rsa';
  if (!allows(tags.get('h'), 'sha256')) return 'must allow sha256 in its h= tag';
  if (!allows(tags.get('s'), 'email', '*')) return 'must allow email in its s= tag';
  return undefined;
}

/** A list with colons; absent, it allows everything. */
function allows(list: string | undefined, ...names: string[]): boolean {
  return list === undefined || list.split(':').some((item) => names.includes(item.trim().toLowerCase()));
}
