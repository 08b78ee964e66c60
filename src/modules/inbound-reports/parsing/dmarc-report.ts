import { isIP } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Parser } from 'htmlparser2';
import ipaddr from 'ipaddr.js';
import { DAY, SECOND } from '../../../common/clock';
import { parseDomain } from '../../../common/mail-domain';
import type { DmarcRecord, DmarcReport } from '../../domains/aggregate-reports/aggregate-reports.service';
import { printable } from './report';
import { filesIn, unpack } from './unpack';

/** Of one message, which has one report. Those of the largest receivers have some hundreds of records. */
const LIMITS = { bytes: 10 * 1024 * 1024, records: 5_000, depth: 16, text: 300, tokenCharacters: 64 * 1024 } as const;
const FILES = {
  types: /^(?:application|text)\/(?:gzip|x-gzip|gzip-compressed|zip|x-zip-compressed|x-zip|xml|octet-stream)$/,
  names: /\.(?:xml|zip|gz)$/i,
};

/** The aggregate report (RFC 7489 section 7.2) that a message carries; undefined when it carries none that can be read. */
export async function readDmarcReport(raw: Buffer): Promise<DmarcReport | undefined> {
  let left: number = LIMITS.bytes;
  async function* counted(pieces: AsyncIterable<Buffer>) {
    for await (const piece of pieces) {
      left -= piece.length;
      yield piece;
    }
  }
  for (const data of filesIn(raw, FILES)) {
    const report = await parseDmarcXml(counted(unpack(data, left))).catch(() => undefined);
    if (report) return report;
  }
  return undefined;
}

/**
 * Reads the XML of RFC 7489 appendix C, piece by piece, as it is unpacked. The parser knows the five entities of XML and no
 * others: a document type declares nothing here. Elements are found by their names alone, as reporters differ in namespaces.
 * @throws Error for a report of too many records or with a token that is too long, and whatever `pieces` throws
 */
export async function parseDmarcXml(pieces: AsyncIterable<Buffer>): Promise<DmarcReport | undefined> {
  const reader = new ReportReader();
  const parser = new Parser(reader, { xmlMode: true, decodeEntities: true });
  const decoder = new TextDecoder();
  let length = 0;
  for await (const piece of pieces) {
    const text = decoder.decode(piece, { stream: true });
    length += text.length;
    parser.write(text);
    // The parser keeps an unfinished token and joins it in one turn: CDATA of 10 MB took 50 ms.
    if (length - parser.endIndex > LIMITS.tokenCharacters) throw new Error('has a token that is too long');
    // Parsing is plain computation.
    await nextTurn();
  }
  parser.end(decoder.decode());
  return reader.report();
}

/** Whether a report can be of its time: one that came now, over a month at most. What is not would count for years. */
export function isPlausible({ begin, end }: Pick<DmarcReport, 'begin' | 'end'>, receivedAt: Date): boolean {
  const age = receivedAt.getTime() - end.getTime();
  return age > -2 * DAY && age < 32 * DAY && end.getTime() - begin.getTime() < 32 * DAY;
}

type Fields = Map<string, string>;

/** Keeps the text of leaves by their path, the head's and those of the record at hand. */
class ReportReader {
  private readonly path: string[] = [];
  private readonly head: Fields = new Map();
  private record: Fields = new Map();
  private readonly records: DmarcRecord[] = [];
  private text = '';

  onopentagname(name: string): void {
    if (this.path.length >= LIMITS.depth) throw new Error('is nested too deep');
    this.path.push(localName(name));
    this.text = '';
    if (this.path.length === 2 && this.path[1] === 'record') this.record = new Map();
  }

  ontext(text: string): void {
    if (this.text.length < LIMITS.text) this.text += text.slice(0, LIMITS.text);
  }

  onclosetag(): void {
    const place = this.path.slice(1).join('/');
    const value = printable(this.text, LIMITS.text);
    const fields = this.path[1] === 'record' ? this.record : this.head;
    // The first counts; a message may have several signatures and reasons, which are not kept.
    if (value !== undefined && !fields.has(place) && fields.size < 100) fields.set(place, value);
    if (place === 'record') this.endRecord();
    this.text = '';
    this.path.pop();
  }

  report(): DmarcReport | undefined {
    const { head } = this;
    const domain = domainOf(head.get('policy_published/domain'));
    const reporter = head.get('report_metadata/org_name') ?? head.get('report_metadata/email');
    const reportId = head.get('report_metadata/report_id');
    const begin = timeOf(head.get('report_metadata/date_range/begin'));
    const end = timeOf(head.get('report_metadata/date_range/end'));
    if (!domain || !reporter || !reportId || !begin || !end || end < begin) return undefined;
    const policy = policyOf(head.get('policy_published/p'));
    return policy && { domain, reporter, reportId, begin, end, policy, records: this.records };
  }

  private endRecord(): void {
    const { record } = this;
    const sourceIp = record.get('record/row/source_ip') ?? '';
    const messages = Number(record.get('record/row/count'));
    const isSound = isIP(sourceIp) !== 0 && Number.isSafeInteger(messages) && messages > 0 && messages <= 1e9;
    if (!isSound) return;
    if (this.records.length >= LIMITS.records) throw new Error('has too many records');
    this.records.push({
      // Reporters write IPv6 in several ways.
      sourceIp: ipaddr.process(sourceIp).toString(),
      messages,
      headerFrom: domainOf(record.get('record/identifiers/header_from')),
      // As evaluated for DMARC: passed, and aligned (RFC 7489 section 3.1).
      dkim: record.get('record/row/policy_evaluated/dkim')?.toLowerCase() === 'pass',
      spf: record.get('record/row/policy_evaluated/spf')?.toLowerCase() === 'pass',
      disposition: policyOf(record.get('record/row/policy_evaluated/disposition')) ?? 'none',
    });
  }
}

function localName(name: string): string {
  return name
    .slice(name.lastIndexOf(':') + 1)
    .slice(0, 50)
    .toLowerCase();
}

function domainOf(text: string | undefined): string | undefined {
  const parsed = text === undefined ? undefined : parseDomain(text.replace(/\.$/, ''));
  return parsed?.ok ? parsed.domain : undefined;
}

function policyOf(text: string | undefined): DmarcReport['policy'] | undefined {
  const policy = text?.toLowerCase();
  return policy === 'none' || policy === 'quarantine' || policy === 'reject' ? policy : undefined;
}

/** Seconds since 1970; whether they are plausible shows when the report came. */
function timeOf(text: string | undefined): Date | undefined {
  const seconds = /^\d{9,10}$/.test(text ?? '') ? Number(text) : undefined;
  return seconds === undefined ? undefined : new Date(seconds * SECOND);
}
