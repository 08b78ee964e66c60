import { Injectable } from '@nestjs/common';
import { DnsResolver } from '../../common/dns/dns-resolver';
import { addressKey } from '../../common/mail-address';
import type { OutgoingMessage } from '../ports/sources';
import { TlsRepository, type DueReport, type SessionCount } from './tls.repository';

/** A domain's addresses for TLS reports (RFC 8460 section 3). */
export interface ReportTargets {
  /** Addresses. */
  readonly mail: readonly string[];
  readonly web: readonly URL[];
}

const RECORD = /^v=TLSRPTv1[ \t]*;/;
/** A domain that names more is no better off. */
const MAX_TARGETS = 3;
const ADDRESS = /^[^\s@,;<>"()[\]\\]{1,64}@[a-z0-9.-]{1,253}$/i;

/** What a domain's record at `_smtp._tls` requests; undefined when there is none, several, or none that is usable. */
export function readReportTargets(texts: readonly string[]): ReportTargets | undefined {
  const [record, ...others] = texts.filter((text) => RECORD.test(text));
  if (record === undefined || others.length > 0) return undefined;
  const rua = /;[ \t]*rua[ \t]*=([^;]{1,2000})/.exec(record)?.[1] ?? '';
  const uris = rua.split(',').map((uri) => uri.trim());
  const mail = uris.flatMap((uri) => (/^mailto:/i.test(uri) ? addressIn(uri.slice('mailto:'.length)) : []));
  const web = uris.flatMap((uri) => (/^https:/i.test(uri) ? urlIn(uri) : []));
  const [someMail, someWeb] = [mail.slice(0, MAX_TARGETS), web.slice(0, MAX_TARGETS)];
  return someMail.length + someWeb.length > 0 ? { mail: someMail, web: someWeb } : undefined;
}

/** What a URI cannot hold is percent-encoded there (section 3). */
function addressIn(encoded: string): string[] {
  try {
    const address = decodeURIComponent(encoded.replace(/\?.*$/, ''));
    return ADDRESS.test(address) ? [address] : [];
  } catch {
    return [];
  }
}

function urlIn(text: string): URL[] {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url && url.username === '' && url.password === '' ? [url] : [];
}

/** The tag of our own TLS reports, when they go by mail. */
export const REPORT_TAG = 'tls-report';

/**
 * Whether a mail is one of our TLS reports: receivers get it although the encryption that they demand fails, as that may be its
 * subject (RFC 8460 section 5.3). Only the owner of the contact's domain, who sends them, can write one.
 * @param contact `TLS_REPORT_CONTACT`
 */
export function isReportMail(
  { isRaw, tag, from }: Pick<OutgoingMessage, 'isRaw' | 'tag' | 'from'>,
  contact: string | undefined,
): boolean {
  if (contact === undefined || isRaw !== true || tag !== REPORT_TAG) return false;
  return addressKey(from.email) === addressKey(contact);
}

/** What reports to other domains are made of: which are due, what has been counted for them, and where they go. */
@Injectable()
export class TlsReportData {
  constructor(
    private readonly rows: TlsRepository,
    private readonly resolver: DnsResolver,
  ) {}

  /** Of days that are over. */
  due(limit: number): Promise<DueReport[]> {
    return this.rows.dueTlsReports(limit);
  }

  /** `unknown` while DNS does not reply; undefined when the domain wants none. */
  async targetsOf(domain: string): Promise<ReportTargets | 'unknown' | undefined> {
    const answer = await this.resolver.resolveTxt(`_smtp._tls.${domain}`);
    if (answer.kind === 'temporary') return 'unknown';
    return answer.kind === 'found' ? readReportTargets(answer.records) : undefined;
  }

  /** The largest counts of one report. */
  countsOf(report: DueReport): Promise<SessionCount[]> {
    return this.rows.readTlsSessions(report);
  }

  /** It was sent, or no address wants it. */
  async end(report: DueReport): Promise<void> {
    await this.rows.removeTlsSessions(report);
  }
}

export type { DueReport, SessionCount };
