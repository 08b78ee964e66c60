import type { Mode } from '../../../common/tenant';
import type { Authentication } from '../authentication/authentication';
import type { MailMark } from './mail-marks';

/** What lists and events show, read from the header when the mail came. */
export interface InboundEmailData {
  readonly from: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly subject: string;
  readonly messageId: string | null;
  readonly inReplyTo?: string;
  readonly references: readonly string[];
  readonly marks: readonly MailMark[];
  readonly authentication: Authentication;
}

/** A route that a recipient of a message belongs to. */
export interface RouteMatch {
  readonly organizationId: string;
  readonly routeId: string;
  readonly domainId: string;
  readonly webhookId: string | null;
}

/** One copy of a message, for one route. */
export interface NewInboundEmail extends RouteMatch {
  readonly digest: Buffer;
  readonly envelopeFrom: string;
  /** Recipients of this route alone. */
  readonly envelopeTo: readonly string[];
  readonly fromAddress: string;
  readonly addresses: readonly string[];
  readonly data: InboundEmailData;
  readonly sizeBytes: number;
}

/**
 * `known`: a copy of a stored message; `full`: over a limit of the hour; `no_room`: the organization's storage is full. The
 * last two are to be tried again later.
 */
export const STORED = ['new', 'known', 'full', 'no_room'] as const;

export type Stored = (typeof STORED)[number];

export interface InboundCapacity {
  /** Of an organization, in an hour. */
  readonly perHour: number;
  readonly bytesPerHour: number;
  /** Of a route, in an hour. */
  readonly perRouteAndHour: number;
  /** Of an organization, in all. Each message counts as its size and `ROW_BYTES`. */
  readonly storedBytes: number;
}

/** What a message takes beside its bytes: its row, its index entries. */
export const ROW_BYTES = 4_096;

/**
 * Addresses in the index; of mail with more of them the header is searched. The index `inbound_emails_crowded` uses the same
 * number.
 */
export const INDEXED_ADDRESSES = 200;

/** Ids after the one and before the other. */
export interface IdRange {
  readonly after: string;
  readonly before: string;
  readonly limit: number;
}

export interface InboundEmailKey {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly id: string;
}

/** A recipient that the listener has admitted, and where its mail goes: to one route of each organization. */
export interface RoutedRecipient {
  readonly recipient: string;
  readonly routes: readonly RouteMatch[];
}

/**
 * `postmaster`: of a host that has routes, but none for it; `unknown`: the host is in a verified domain, but the address has no
 * route; `foreign`: it is in none.
 */
export type Routing = RoutedRecipient | 'postmaster' | 'unknown' | 'foreign';
