import type { KeyObject } from 'node:crypto';
import type { Transaction } from '../../database/transaction';

export interface SigningKey {
  /** The `d=` of the signature. */
  readonly domain: string;
  /** The `s=` of the signature. */
  readonly selector: string;
  /** RSA, parsed once: parsing the PEM costs more than the signature (0.34 against 0.25 ms). */
  readonly privateKey: KeyObject;
  /** Host of the envelope sender once the domain points one at us (aligned SPF, RFC 7489 section 3.1.2); else our own. */
  readonly returnPathHost?: string | undefined;
  /** Host of tracked links once the domain points one at us; else our own. */
  readonly trackingHost?: string | undefined;
  /** Whether mail from the domain may go over encrypted connections only. */
  readonly requiresTls?: boolean;
}

/** Reason of what waits for a paused domain of its sender. */
export const SENDING_PAUSED = 'sending paused';

/** Instead of a key: nothing is sent from the domain for now. */
export interface SendingPause {
  /** Since when, and why: for the sender, in plain words. */
  readonly whyPaused: string;
}

/** What is known of the key of a domain; a key that cannot be opened is its error. */
export type KeyState = SigningKey | Error | SendingPause;

/** Where the engine gets DKIM keys from; bound to the domains feature by the worker's root module. */
export abstract class SigningKeySource {
  /** The key to sign with now, by domain id; a removed domain is left out. */
  abstract keysFor(domains: readonly { organizationId: string; domainId: string }[]): Promise<Map<string, KeyState>>;
}

/** Where the engine gets the short numbers that name organizations in return paths; bound to auth by the root module. */
export abstract class OrdinalSource {
  /** Ordinals by organization id; unknown organizations are left out. */
  abstract ordinalsOf(organizationIds: readonly string[]): Promise<Map<string, number>>;
}

/** Where the engine learns how large the organizations' shares of its work are; bound to auth by the root module. */
export abstract class WeightSource {
  /** By organization id: 1 to 100. Those that are left out have 1. At most a few seconds old. */
  abstract weights(): Promise<ReadonlyMap<string, number>>;
}

/** Something that the engine has done by itself and the operator of the installation wants to know. */
export interface OperatorEntry {
  /** Like `egress.suspended`. */
  readonly action: string;
  readonly targetType: string;
  readonly targetId: string;
  /** Small and free of personal data. */
  readonly data: object;
}

/** Where the engine tells operators of it; bound to the audit log by the worker's root module. */
export abstract class OperatorLog {
  /** In the transaction that makes the change: both are written, or neither. */
  abstract record(entries: readonly OperatorEntry[], tx: Transaction): Promise<void>;
}
