import { Injectable } from '@nestjs/common';
import { SECOND } from '../../../common/clock';

/** From whom a message came. */
export interface Client {
  readonly address: string;
  readonly helo: string;
  /** The network that waits for its turn. */
  readonly network: string;
  /** Of the envelope; empty for the null sender. */
  readonly sender: string;
}

/** One method's result (RFC 8601 section 2.7): pass, fail, none, temperror, … */
export interface MethodResult {
  readonly result: string;
  /** What it is about: the sender's domain, or the signature's. */
  readonly domain?: string;
  readonly selector?: string;
  /** DMARC: the policy of the domain. */
  readonly policy?: string;
}

/** What was found of the sender when the mail came. Never a reason to refuse it. */
export interface Authentication {
  readonly spf: MethodResult;
  readonly dkim: readonly MethodResult[];
  readonly dmarc: MethodResult;
  /** Where the message has such a chain. */
  readonly arc?: MethodResult;
}

/** What is authenticated of a message; more of it has no result. */
@Injectable()
export class AuthenticationLimits {
  /** For the look-ups of SPF, DKIM, DMARC and ARC; after it, `temperror`. */
  readonly authenticationMs: number = 10 * SECOND;
  /** Of a header that is authenticated; of real ones the longest have half of it. */
  readonly maxHeaderBytes: number = 48 * 1024;
  readonly maxHeaderLines: number = 1_000;
  /** Of a body that is authenticated: RFC 5322 has 998, and some mail has all its html in one. */
  readonly maxLineBytes: number = 128 * 1024;
  /** Signatures and ARC seals that are verified: each may cost a hash of the whole message. */
  readonly maxSignatures: number = 20;
}
