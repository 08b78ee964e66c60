import type { Mode } from '../../common/mode';

/** The delivery that a report is about, as its return path named it. */
export interface ReportSubject {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly emailId: string;
  /** Position among the email's recipients. */
  readonly position: number;
}

export interface NewInboundReport extends ReportSubject {
  /** Sorts by arrival. */
  readonly id: string;
}
