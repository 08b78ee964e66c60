import type { PoolClient } from 'pg';
import { DataSource, type DataSourceOptions, type QueryRunner, type ReplicationMode } from 'typeorm';
import { currentScope, type TenantScope } from '../common/tenant';
import { examineRowSecurity, type RowSecurity } from './row-security';

export type TenantDataSourceOptions = DataSourceOptions & {
  /** False: every statement runs as the user of the connection. */
  readonly rowLevelSecurity: boolean;
};

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * A data source whose statements keep to the tenant scope of their caller, by row-level security: those of a request run in
 * a transaction as the role `<owner>_tenant` with the request's organization. That holds for plain repository calls too:
 * a query outside a transaction gets one of its own.
 */
export class TenantDataSource extends DataSource {
  /** Known once initialized. */
  rowSecurity: RowSecurity = { state: 'off' };

  constructor(private readonly given: TenantDataSourceOptions) {
    super(given);
  }

  override async initialize(): Promise<this> {
    await super.initialize();
    if (this.given.rowLevelSecurity) this.rowSecurity = await examineRowSecurity(super.createQueryRunner());
    return this;
  }

  /** What puts an open transaction into a scope, by default the caller's; undefined when that is everyone's. */
  restriction(scope: TenantScope = currentScope()): string | undefined {
    const { rowSecurity } = this;
    if (scope === 'everyone' || rowSecurity.state !== 'on') return undefined;
    if (!scope.every((id) => UUID.test(id))) throw new Error('An organization is known by a UUID');
    return `set local role ${rowSecurity.role}; set local waybill.organizations = '{${[...new Set(scope)].join(',')}}'`;
  }

  override createQueryRunner(mode?: ReplicationMode): QueryRunner {
    const runner = super.createQueryRunner(mode);
    const query = runner.query.bind(runner) as (...given: Parameters<QueryRunner['query']>) => Promise<unknown>;
    const restricted = async (...given: Parameters<QueryRunner['query']>): Promise<unknown> => {
      const restriction = this.restriction();
      if (restriction === undefined) return query(...given);
      if (given[0] === 'START TRANSACTION') return query(`start transaction; ${restriction}`);
      if (runner.isTransactionActive) return query(...given);
      return inOwnTransaction((await runner.connect()) as PoolClient, restriction, () => query(...given));
    };
    return Object.assign(runner, { query: restricted, stream: refuseStream });
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

function refuseStream(): Promise<never> {
  return Promise.reject(new Error('A stream would read outside its caller’s tenant scope'));
}
