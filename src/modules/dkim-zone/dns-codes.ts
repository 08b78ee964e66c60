/** Response codes (RFC 1035 section 4.1.1; BADVERS: RFC 6891 section 9). */
export const RCODES = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const;

export type Rcode = keyof typeof RCODES;

/** Record types that are treated apart; all others are just absent. */
export const TYPES = { NS: 2, SOA: 6, TXT: 16, IXFR: 251, AXFR: 252, ANY: 255 } as const;

export const CLASS_IN = 1;
