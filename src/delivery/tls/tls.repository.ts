import { Injectable } from '@nestjs/common';
import { Database } from '../../database/pool/database.service';
import {
  addSessions,
  type CountedSession,
  duePolicies,
  type DueReport,
  dueReports,
  type KnownPolicy,
  noteFailure,
  readPolicies,
  readSessions,
  removeOldSessions,
  removePolicies,
  removeSessions,
  type SessionCount,
  type StoredPolicy,
  storePolicy,
  takeFetch,
} from './sql/tls.sql';

/** The encryption of receivers: their MTA-STS policies, and the counts for reports on TLS. */
@Injectable()
export class TlsRepository {
  constructor(private readonly database: Database) {}

  /** MTA-STS: the stored policies of domains, and that they are in use. */
  readPolicies(domains: readonly string[]): Promise<KnownPolicy[]> {
    return this.database.run(readPolicies(domains));
  }

  /** True for the one process that has to fetch the policy, and to report the result within that time. */
  async takePolicyFetch(domain: string, policyId: string, seconds: number): Promise<boolean> {
    return (await this.database.run(takeFetch(domain, policyId, seconds))).length > 0;
  }

  async storePolicy(domain: string, policyId: string, policy: StoredPolicy, lifeSeconds: number): Promise<void> {
    await this.database.run(storePolicy(domain, policyId, policy, lifeSeconds));
  }

  async notePolicyFailure(domain: string, failure: Parameters<typeof noteFailure>[1]): Promise<void> {
    await this.database.run(noteFailure(domain, failure));
  }

  /** Domains whose policy has to be fetched again. */
  async duePolicies(limit: number): Promise<string[]> {
    return (await this.database.run(duePolicies(limit))).map(({ domain }) => domain);
  }

  /** Returns the number of removed rows. */
  async removePolicies(): Promise<number> {
    return (await this.database.run(removePolicies())).length;
  }

  /** Of reports on TLS: adds to what has been counted today. @param counts each kind once */
  async addTlsSessions(counts: readonly SessionCount[]): Promise<void> {
    if (counts.length > 0) await this.database.run(addSessions(counts));
  }

  /** Of days that are over. */
  dueTlsReports(limit: number): Promise<DueReport[]> {
    return this.database.run(dueReports(limit));
  }

  /** The largest counts of one report. */
  readTlsSessions(report: DueReport): Promise<SessionCount[]> {
    return this.database.run(readSessions(report));
  }

  async removeTlsSessions(report: DueReport): Promise<void> {
    await this.database.run(removeSessions(report));
  }

  /** Returns the number of removed rows. */
  async removeOldTlsSessions(): Promise<number> {
    return (await this.database.run(removeOldSessions())).length;
  }
}

export type { CountedSession, DueReport, KnownPolicy, SessionCount };
