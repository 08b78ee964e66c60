// Parts that the erasing statements share; no statement by itself.
import type { AddressFinder } from '../../../../common/erasure/address-finder';
import type { Mode } from '../../../../common/tenant';

/** Whom an erasure is about. */
export interface ErasedSubject {
  readonly organizationId: string;
  readonly mode: Mode;
  /** Forms of the address in lower case: what stored addresses are compared with. */
  readonly keys: readonly string[];
  /** Finds the address within texts. */
  readonly finder: AddressFinder;
}

/** An address that stands for an erased recipient; see `isErased`. */
export const IS_PLACEHOLDER = `like 'erased-%@erased.invalid'`;
