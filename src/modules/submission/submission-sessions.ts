import { HeldPlaces } from '../../common/connection-shares';
import type { Principal } from '../../common/http/principal';
import type { SubmissionLimits } from './submission-login';

/** The state of a connection, from its greeting on. */
export interface SubmissionSession {
  /** Whom it counts as: an address, or a network of IPv6. */
  readonly client: string;
  /** Its connection. */
  readonly peer: string;
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
  private readonly loggedIn = new Set<string>();
  /** Without a login. */
  private readonly unproven = new HeldPlaces<string>();

  get size(): number {
    return this.sessions.size;
  }

  get all(): ReadonlyMap<string, SubmissionSession> {
    return this.sessions;
  }

  /** Of the logins. */
  get keys(): ReadonlySet<string> {
    return new Set([...this.sessions.values()].flatMap(({ login }) => (login ? [login.key] : [])));
  }

  get(id: string): SubmissionSession | undefined {
    return this.sessions.get(id);
  }

  ofClient(client: string): number {
    return this.byClient.get(client) ?? 0;
  }

  isLoggedIn(peer: string): boolean {
    return this.loggedIn.has(peer);
  }

  /** An organization may have no more sessions than are left to the others. */
  hasRoomFor(organizationId: string, { maxSessions, maxSessionsOfOrganization }: SubmissionLimits): boolean {
    const left = Math.max(1, maxSessions - this.loggedIn.size);
    return (this.byOrganization.get(organizationId) ?? 0) < Math.min(maxSessionsOfOrganization, left);
  }

  open(id: string, session: SubmissionSession): void {
    this.sessions.set(id, session);
    this.unproven.add(session.client, id);
    count(this.byClient, session.client, 1);
  }

  logIn(id: string, key: string, principal: Principal): void {
    const session = this.sessions.get(id);
    if (!session) return;
    this.logOut(id, session);
    session.login = { key, principal };
    this.loggedIn.add(session.peer);
    this.unproven.remove(session.client, id);
    count(this.byOrganization, principal.organizationId, 1);
  }

  /** Commands before TLS do not count after it (RFC 3207 section 4.2). */
  logOut(id: string, session: SubmissionSession): void {
    if (!session.login) return;
    count(this.byOrganization, session.login.principal.organizationId, -1);
    session.login = undefined;
    this.loggedIn.delete(session.peer);
    this.unproven.add(session.client, id);
  }

  /** Forgets a session that gives way to another client's. @returns its id, if there is one */
  endFor(client: string): string | undefined {
    const id = this.unproven.givingWayTo(client);
    if (id !== undefined) this.close(id);
    return id;
  }

  /**
   * Forgets the client's oldest session without a login, for another one of the same client, unless it is from after a moment: it may
   * be about to log in.
   * @returns its id, if there is one
   */
  endOneOf(client: string, openedByMs: number): string | undefined {
    for (const [id, session] of this.sessions) {
      if (session.client !== client || session.login) continue;
      if (session.openedMs > openedByMs) return undefined;
      this.close(id);
      return id;
    }
    return undefined;
  }

  close(id: string): void {
    const session = this.sessions.get(id);
    if (!session) return;
    this.logOut(id, session);
    this.unproven.remove(session.client, id);
    this.sessions.delete(id);
    count(this.byClient, session.client, -1);
  }
}

function count(counts: Map<string, number>, name: string, by: number): void {
  const next = (counts.get(name) ?? 0) + by;
  if (next > 0) counts.set(name, next);
  else counts.delete(name);
}
