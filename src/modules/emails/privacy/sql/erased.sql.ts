// Parts that the erasing statements share; no statement by itself.

/** Whom an erasure is about. */
export interface ErasedSubject {
  readonly organizationId: string;
  readonly mode: 'live' | 'test';
  /** Forms of the address in lower case: what stored addresses are compared with. */
  readonly keys: readonly string[];
  /** Regular expression for every spelling of the address within a text, for Postgres. */
  readonly pattern: string;
}

/** What is left of an address within a text. */
export const REPLACEMENT = '[erased]';

/** The address of an erased recipient, as `isErased` knows it. */
export const placeholder = (position: string): string => `'erased-' || ${position} || '@erased.invalid'`;

/** @param pattern parameter of the pattern */
export const withoutAddress = (text: string, pattern: string): string =>
  `regexp_replace(${text}, ${pattern}, '${REPLACEMENT}', 'g')`;
