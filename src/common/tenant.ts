/** Live mail leaves the service; test mail meets the simulator. Data of the two never mix. */
export type Mode = 'live' | 'test';

export const MODES: readonly Mode[] = ['live', 'test'];

/** Whose data a call reads or changes. Every query filters by organization and mode. */
export interface Tenant {
  readonly organizationId: string;
  readonly mode: Mode;
  /** Set when the caller's API key is bound to one domain: it sees and changes only that domain's data. */
  readonly domainId?: string | undefined;
}
