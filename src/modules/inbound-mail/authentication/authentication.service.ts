import { Injectable, Logger } from '@nestjs/common';
import type { DKIMResult, DMARCResult } from 'mailauth';
import { EVENT_LOOP, FairLimit } from '../../../common/async/fair-turns';
import { type DnsAnswer, DnsResolver, type LookupOptions } from '../../../common/dns/dns-resolver';
import { lfToCrlf } from '../../../common/mime/line-ends';
import { AppConfig } from '../../../config/config';
import type { Found } from './authentication-thread';
import { AUTHENTICATION_POOL } from './authentication-pool';
import { type Authentication, AuthenticationLimits, type Client, type MethodResult } from './authentication';

/** Handed over in one turn of the event loop: a millisecond. */
const CHUNK_BYTES = 256 * 1024;
const LF = 0x0a;
/** Messages at a time, of one sender's network one: as many as the listener has connections, since most wait for the DNS only. */
const AT_A_TIME = 200;
/** As the library reads names: with any white space before the colon. */
const SIGNATURE = /^(?:dkim-signature|arc-seal|arc-message-signature)\s*:/gim;
/** Where a header ends for the library: at the first empty line, whatever its line ends. */
const HEADER_ENDS = ['\n\n', '\n\r\n'];

/**
 * SPF, DKIM, DMARC and ARC of a message, by mailauth. Never throws and is bounded in time: an unavailable result is a
 * `temperror`, since mail is taken whatever the result.
 */
@Injectable()
export class AuthenticationService {
  private readonly logger = new Logger(AuthenticationService.name);
  private readonly limit = new FairLimit(AT_A_TIME);

  constructor(
    private readonly dns: DnsResolver,
    private readonly limits: AuthenticationLimits,
    private readonly config: AppConfig,
  ) {}

  async examine(message: Buffer, client: Client): Promise<Authentication> {
    if (!this.isExaminable(message)) return nothingKnown('permerror');
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(), this.limits.authenticationMs);
    const ended = new Promise<Authentication>((resolve) =>
      ending.signal.addEventListener('abort', () => resolve(nothingKnown('temperror')), { once: true }),
    );
    try {
      return await Promise.race([
        ended,
        this.limit.run(client.network, () => this.run(message, client, ending.signal), ending.signal),
      ]);
    } catch (error) {
      this.logger.debug(`A message could not be authenticated: ${(error as Error).message}`);
      return nothingKnown('temperror');
    } finally {
      clearTimeout(timer);
      ending.abort();
    }
  }

  /**
   * What the library takes for a header grows with the square of a field's lines. Each signature may cost a hash of the whole message and a
   * look-up; a body line is scanned again with each of its chunks.
   */
  private isExaminable(message: Buffer): boolean {
    const { maxHeaderBytes, maxHeaderLines, maxSignatures, maxLineBytes } = this.limits;
    if (hasLineBeyond(message, maxLineBytes)) return false;
    const head = message.toString('latin1', 0, maxHeaderBytes);
    const ends = HEADER_ENDS.map((end) => head.indexOf(end)).filter((at) => at !== -1);
    if (ends.length === 0 && message.length > maxHeaderBytes) return false;
    const header = head.slice(0, Math.min(...ends, head.length));
    return header.split('\n').length <= maxHeaderLines && (header.match(SIGNATURE)?.length ?? 0) <= maxSignatures;
  }

  private async run(message: Buffer, client: Client, signal: AbortSignal): Promise<Authentication> {
    const { address: ip, helo, sender, network } = client;
    const found = await AUTHENTICATION_POOL.examine(network, () => ({
      client: { ip, helo, sender, mta: this.config.delivery.mailHost },
      pieces: piecesInTurns(message, network),
      resolve: (name, type) => this.resolve(name, type, { signal, holder: network }),
      signal,
    }));
    return found ? toAuthentication(found) : nothingKnown('permerror');
  }

  /** In the form of `dns.promises.resolve`. The names behind addresses (`ptr`, which RFC 7208 section 5.5 advises against) are not looked up. */
  private async resolve(name: string, type: string, asked: LookupOptions): Promise<string[][] | string[]> {
    switch (type) {
      case 'TXT':
        return recordsOf(await this.dns.resolveTxt(name, asked)).map((text) => [text]);
      case 'A':
      case 'AAAA': {
        const family = type === 'A' ? 4 : 6;
        const found = recordsOf(await this.dns.resolveAddresses(name, asked));
        return found.filter((record) => record.family === family).map(({ address }) => address);
      }
      case 'MX': {
        const hosts = recordsOf(await this.dns.resolveMx(name, asked));
        // The declared type has no MX records, which the library does query.
        return hosts.map(({ exchange, preference }) => ({ exchange, priority: preference })) as unknown as string[];
      }
      default:
        throw failure('ENODATA');
    }
  }
}

/** Jumps from the last line end within the limit to the next one: a few steps for each line that is as long as allowed. */
function hasLineBeyond(message: Buffer, maxBytes: number): boolean {
  for (let start = 0; message.length - start > maxBytes;) {
    const end = message.subarray(start, start + maxBytes + 1).lastIndexOf(LF);
    if (end === -1) return true;
    start += end + 1;
  }
  return false;
}

/** With CRLF, as the library would make of them itself, line by line: 64 KiB of LF took it a tenth of a second. */
async function* piecesInTurns(message: Buffer, network: string): AsyncGenerator<Buffer> {
  for (let at = 0; at < message.length; at += CHUNK_BYTES) {
    await EVENT_LOOP.next(network);
    yield lfToCrlf(message.subarray(at, at + CHUNK_BYTES), message[at - 1]);
  }
}

function recordsOf<Item>(answer: DnsAnswer<Item>): readonly Item[] {
  switch (answer.kind) {
    case 'found':
      return answer.records;
    case 'no-data':
      throw failure('ENODATA');
    case 'no-domain':
      throw failure('ENOTFOUND');
    case 'temporary':
      throw failure('ESERVFAIL');
  }
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}

function nothingKnown(result: 'permerror' | 'temperror'): Authentication {
  return { spf: { result }, dkim: [], dmarc: { result } };
}

function toAuthentication({ spf, dkim, dmarc, arc }: Found): Authentication {
  const chain = arc && arc.i ? toResult(arc.status.result, {}) : undefined;
  return {
    spf: spf ? toResult(spf.status.result, { domain: spf.domain }) : { result: 'none' },
    dkim: dkim.results
      .filter(({ status }) => status.result !== 'none')
      .map((found) => toResult(resultOf(found), { domain: found.signingDomain, selector: found.selector })),
    dmarc: dmarc ? toResult(dmarcResultOf(dmarc), { domain: dmarc.domain, policy: dmarc.policy }) : { result: 'none' },
    ...(chain && { arc: chain }),
  };
}

/**
 * As RFC 8601 section 2.7.1 names it: a changed body is `fail`, which the library calls neutral. A signature that leaves the end
 * of the body unsigned (`l=`) is `policy`, as anyone may have added that end (RFC 6376 section 8.2).
 */
function resultOf({ status }: DKIMResult): string {
  if (status.comment === 'body hash did not verify') return 'fail';
  return status.result === 'pass' && status.underSized ? 'policy' : status.result;
}

/** A pass needs an aligned SPF pass or a signature of the whole body. */
function dmarcResultOf({ status, alignment }: DMARCResult): string {
  const restsOnPart = alignment?.dkim?.underSized && !alignment.spf?.result;
  return status.result === 'pass' && restsOnPart ? 'fail' : status.result;
}

/** Text only: all of it comes from the message or from DNS. */
function toResult(result: unknown, about: Omit<{ [Key in keyof MethodResult]: unknown }, 'result'>): MethodResult {
  const known = Object.entries(about).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  const texts = Object.fromEntries(known.map(([name, text]) => [name, storable(text.slice(0, 255))]));
  return { ...(texts as Omit<MethodResult, 'result'>), result: String(result) };
}

/** JSON of Postgres takes neither NUL nor halves of surrogate pairs. */
function storable(text: string): string {
  return text.replaceAll('\0', '').replace(/\p{Cs}/gu, '\ufffd');
}
