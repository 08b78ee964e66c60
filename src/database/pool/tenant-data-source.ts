import type { PoolClient } from 'pg';
import { DataSource, type DataSourceOptions, type QueryRunner, type ReplicationMode } from 'typeorm';
import { HolderTurns, leavingOthers } from '../../common/async/holder-turns';
import { clientGone, type CurrentRequest, currentRequest, currentScope, type TenantScope } from '../../common/tenant';
import { DEFAULT_POOL_SIZE } from './data-source';
import { translateDatabaseError } from '../statements/database-errors';
import { examineRowSecurity, type RowSecurity } from '../statements/row-security';

export type TenantDataSourceOptions = DataSourceOptions & {
  /** False: every statement runs as the user of the connection. */
  readonly rowLevelSecurity: boolean;
};

/**
 * Connections that the requests of all organizations together leave to what serves everyone: accepted mail, deliveries, jobs, operators, health.
 */
const RESERVED_CONNECTIONS = 2;
/** Waiting statements and transactions of one organization; more would only fill memory. */
const MAX_WAITING = 500;

/** TypeORM's, which marks a transaction as active before it sends this. */
const START = 'START TRANSACTION';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The share of one organization's requests in the connections of a pool: as many at a time as they leave to others, half when they are
 * alone (docs/adr/0042). What waits for its share holds nothing, so a request that has a connection already does not wait for a second.
 */
class ConnectionShares {
  private readonly turns: HolderTurns;

  constructor(poolSize: number) {
    this.turns = new HolderTurns(leavingOthers(Math.max(1, poolSize - RESERVED_CONNECTIONS)), MAX_WAITING);
  }

  /** Takes a connection's place for the current request, if it has an organization. @returns what gives it back */
  take(): Promise<() => void> | undefined {
    const request = currentRequest();
    return request?.organizationId === undefined ? undefined : this.takeFor(request, request.organizationId);
  }

  private async takeFor(request: CurrentRequest, organizationId: string): Promise<() => void> {
    if (request.connections > 0) this.turns.enter(organizationId);
    // A change that has begun is carried to its end.
    else await this.turns.begin(organizationId, request.isRead ? clientGone() : undefined);
    request.connections += 1;
    return () => {
      request.connections -= 1;
      this.turns.end(organizationId);
    };
  }
}

/**
 * A data source whose statements keep to the tenant scope of their caller, by row-level security: those of a request run in
 * a transaction as the role `<owner>_tenant` with the request's organization. That holds for plain repository calls too:
 * a query outside a transaction gets one of its own, and throws UnavailableError where the database is away.
 */
export class TenantDataSource extends DataSource {
  /** Known once initialized. */
  rowSecurity: RowSecurity = { state: 'off' };

  private readonly shares: ConnectionShares;

  constructor(private readonly given: TenantDataSourceOptions) {
    super(given);
    this.shares = new ConnectionShares(given.poolSize ?? DEFAULT_POOL_SIZE);
  }

  /**
   * Runs work that takes a connection of its own, once the organization of the current request has one left of its share.
   * @throws TooManyAtATimeError when too much of the organization waits; UnavailableError when the client has gone while it waited
   */
  inShare<T>(work: () => Promise<T>): Promise<T> {
    const taking = this.shares.take();
    return taking ? taking.then((giveBack) => work().finally(giveBack)) : work();
  }

  override async initialize(): Promise<this> {
    await super.initialize();
    if (this.given.rowLevelSecurity) this.rowSecurity = await examineRowSecurity(super.createQueryRunner());
    return this;
  }

  /** The SQL that puts an open transaction into a scope, by default the caller's; undefined for the scope `everyone`. */
  restriction(scope: TenantScope = currentScope()): string | undefined {
    const { rowSecurity } = this;
    if (scope === 'everyone' || rowSecurity.state !== 'on') return undefined;
    if (!scope.every((id) => UUID.test(id))) throw new Error('An organization is known by a UUID');
    const organizations = [...new Set(scope)].join(',');
    // Without the second one, a role or a database that has `row_security = off` would refuse every statement.
    return `set local role ${rowSecurity.role}; set local row_security = on; set local waybill.organizations = '{${organizations}}'`;
  }

  override createQueryRunner(mode?: ReplicationMode): QueryRunner {
    const runner = super.createQueryRunner(mode);
    const query = runner.query.bind(runner) as (...given: Parameters<QueryRunner['query']>) => Promise<unknown>;
    const restricted = async (...given: Parameters<QueryRunner['query']>): Promise<unknown> => {
      const restriction = this.restriction();
      if (restriction === undefined) return query(...given);
      if (given[0] === START) return query(`start transaction; ${restriction}`);
      return inOwnTransaction((await runner.connect()) as PoolClient, restriction, () => query(...given));
    };
    // Within a transaction its owner decides what an error means, and may run it again.
    const translated = (...given: Parameters<QueryRunner['query']>): Promise<unknown> =>
      runner.isTransactionActive && given[0] !== START ? query(...given) : restricted(...given).catch(throwTranslated);
    return this.shared(Object.assign(runner, { query: translated, stream: refuseStream }));
  }

  /** The same runner, whose connection counts in the share of its caller. */
  private shared(runner: QueryRunner & { databaseConnection?: unknown }): QueryRunner {
    const [connect, release] = [runner.connect.bind(runner), runner.release.bind(runner)];
    let connecting: Promise<unknown> | undefined;
    let giveBack: (() => void) | undefined;
    const end = (): void => {
      giveBack?.();
      giveBack = undefined;
    };
    const connectInShare = async (): Promise<unknown> => {
      giveBack = await this.shares.take();
      return connect().catch((error: unknown) => {
        end();
        throw error;
      });
    };
    return Object.assign(runner, {
      // One that is in a transaction already has that one's connection (`managerOn`).
      connect: () => (runner.databaseConnection ? connect() : (connecting ??= connectInShare())),
      release: () => release().finally(end),
    });
  }
}

async function inOwnTransaction<T>(connection: PoolClient, restriction: string, query: () => Promise<T>): Promise<T> {
  try {
    // Go out together.
    const [, result] = await Promise.all([connection.query(`begin; ${restriction}`), query()]);
    await connection.query('commit');
    return result;
  } catch (error) {
    // A connection that is lost cannot even roll back; the first error is the cause.
    await connection.query('rollback').catch(() => undefined);
    throw error;
  }
}

function throwTranslated(error: unknown): never {
  throw translateDatabaseError(error);
}

function refuseStream(): Promise<never> {
  return Promise.reject(new Error('A stream would read outside its caller’s tenant scope'));
}
