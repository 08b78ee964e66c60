import type { ExportSection } from '../requests/privacy-request.entity';

/** In the order in which a result shows them. */
export const SECTIONS = ['emails', 'events', 'suppressions'] as const satisfies readonly ExportSection[];

export interface ExportedEmail {
  readonly id: string;
  readonly fromEmail: string;
  /** Other people's addresses are redacted. */
  readonly toEmails: readonly string[];
  readonly ccEmails: readonly string[];
  /** The subject's own only: blind copies are unknown to everyone else. */
  readonly bccEmails: readonly string[];
  readonly subject: string;
  readonly createdAt: string;
  readonly status: string;
  /** As long as the content is kept. */
  readonly htmlBody?: string;
  readonly textBody?: string;
  /** Of these, what there is; addresses of others are redacted. */
  readonly replyTo?: readonly string[];
  readonly tags?: unknown;
  readonly metadata?: unknown;
  readonly headers?: unknown;
  readonly attachments?: unknown;
}

export interface ExportedEvent {
  readonly id: string;
  readonly emailId: string;
  readonly eventType: string;
  readonly timestamp: string;
  readonly eventData: unknown;
}

export interface ExportedSuppression {
  readonly id: string;
  readonly email: string;
  readonly reason: string;
  readonly suppressedAt: string;
}

export interface ExportItems {
  readonly emails: readonly ExportedEmail[];
  readonly events: readonly ExportedEvent[];
  readonly suppressions: readonly ExportedSuppression[];
}

/** A result, a section at a time: texts of one JSON document on each line. */
export interface ExportResult {
  readonly read: (section: ExportSection) => AsyncIterable<string>;
}
