import type { Principal } from '../../common/http/principal';

/** The state of a connection, from its greeting on. */
export interface SubmissionSession {
  /** Whom it counts as: an address, or a network of IPv6. */
  readonly client: string;
  readonly openedMs: number;
  /** The connection is private: TLS, or this machine in local mode. */
  isPrivate: boolean;
  login: { readonly key: string; readonly principal: Principal } | undefined;
  /** While a message is read or committed. */
  dataSinceMs: number | undefined;
}

/** The sessions of a listener, and how many each client and each organization has. */
export class SubmissionSessions {
  private readonly sessions = new Map<string, SubmissionSession>();
  private readonly byClient = new Map<string, number>();
  private readonly byOrganization = new Map<string, number>();

  get size(): number {
    return this.sessions.size;
  }

  get all(): ReadonlyMap<string, SubmissionSession> {
    return this.sessions;
  }

  get(id: string): SubmissionSession | undefined {
    return this.sessions.get(id);
  }

  ofClient(client: string): number {
    return this.byClient.get(client) ?? 0;
  }

  ofOrganization(organizationId: string): number {
    return this.byOrganization.get(organizationId) ?? 0;
  }

  open(id: string, session: SubmissionSession): void {
    this.sessions.set(id, session);
    count(this.byClient, session.client, 1);
  }

  logIn(session: SubmissionSession, key: string, principal: Principal): void {
    this.logOut(session);
    session.login = { key, principal };
    count(this.byOrganization, principal.organizationId, 1);
  }

  /** Commands before TLS do not count after it (RFC 3207 section 4.2). */
  logOut(session: SubmissionSession): void {
    if (session.login) count(this.byOrganization, session.login.principal.organizationId, -1);
    session.login = undefined;
  }

  close(id: string): void {
    const session = this.sessions.get(id);
    if (!session) return;
    this.logOut(session);
    this.sessions.delete(id);
    count(this.byClient, session.client, -1);
  }
}

function count(counts: Map<string, number>, name: string, by: number): void {
  const next = (counts.get(name) ?? 0) + by;
  if (next > 0) counts.set(name, next);
  else counts.delete(name);
}
