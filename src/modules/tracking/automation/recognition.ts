/**
 * Why a fetch is taken to be a machine's: `head-request` and `prefetch` as the request says itself; `no-user-agent`;
 * `privacy-proxy`: a mail service loads images whether the mail is read or not; `security-scanner`: a filter, by its agent
 * or its network; `crawler`: by its agent any other program; `many-links`: three links of one mail within two seconds;
 * `at-delivery`: sooner after the mail was handed over than people read.
 */
export type Automation =
  | 'head-request'
  | 'prefetch'
  | 'no-user-agent'
  | 'privacy-proxy'
  | 'security-scanner'
  | 'crawler'
  | 'many-links'
  | 'at-delivery';

/** Whose image proxy stands between a person and us. */
export type Proxy = 'google' | 'yahoo';

/** What a request for a pixel or a link shows of its client. */
export interface Visit {
  readonly isHead: boolean;
  /** The browser fetches in advance (`Sec-Purpose` or `Purpose`). */
  readonly isPrefetch: boolean;
  readonly userAgent: string;
  readonly address: string;
  /** No filter and no mail service is there: developers try tracking out with curl, and at once. */
  readonly isOnThisMachine: boolean;
}

export interface Recognition {
  readonly automation?: Automation;
  readonly proxy?: Proxy;
}
