import { Injectable } from '@nestjs/common';
import { AuditService, INSTALLATION } from '../audit/audit.service';
import { Database } from '../database/database.service';
import type { Transaction } from '../database/transaction';
import { ApiKeyVerifier } from './api-key-verifier.service';
import { ApiKeysService } from './api-keys.service';
import type { ConsoleSession } from './console-session.entity';
import { ConsoleSessionsRepository } from './console-sessions.repository';
import { sessionEvent } from './console-sessions.service';
import { hashKey } from './key-format';
import { OperatorKeysService } from './operator-keys.service';

/** Ends sessions of the console, and with them the keys that were made for nothing else. */
@Injectable()
export class ConsoleSignOut {
  constructor(
    private readonly sessions: ConsoleSessionsRepository,
    private readonly keys: ApiKeysService,
    private readonly operatorKeys: OperatorKeysService,
    private readonly verifier: ApiKeyVerifier,
    private readonly audit: AuditService,
    private readonly database: Database,
  ) {}

  /**
   * One that has ended already is no error.
   * @param everywhere ends all sessions of its key, or where it was opened by a link, all that links have opened for the
   *   same organization and mode
   */
  async signOut(token: string, everywhere: boolean): Promise<void> {
    const session = await this.sessions.find(hashKey(token));
    if (!session) return;
    const { organizationId, keyId } = session;
    await this.database.transaction(async (tx) => {
      const endedKeys = await this.endKeys(session, everywhere, tx);
      const all = () => this.sessions.endAllOf(organizationId, [keyId, ...endedKeys], tx);
      const ended = everywhere ? await all() : await this.sessions.end(session.hash, tx);
      if (ended > 0) await this.audit.record([sessionEvent('console.signed_out', session, { sessions: ended })], tx);
    });
    this.verifier.forget();
  }

  private endKeys(session: ConsoleSession, everywhere: boolean, tx: Transaction): Promise<string[]> {
    if (session.organizationId !== INSTALLATION) return this.keys.endSessionKeys(session, everywhere, tx);
    return this.operatorKeys.endSessionKeys(session.keyId, everywhere, tx);
  }
}
