import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Metrics } from '../common/metrics/metrics';
import { AppConfig } from '../config/config';
import { poolOf } from './data-source';

/** This process's connections to the database, and who waits for one. */
@Injectable()
export class PoolMetrics {
  constructor(dataSource: DataSource, config: AppConfig, metrics: Metrics) {
    const help = 'Open connections of this process to the database';
    metrics.gauge({ name: 'database_pool_connections', help, labels: ['state'] }, () => {
      const { totalCount, idleCount } = poolOf(dataSource);
      return { used: totalCount - idleCount, idle: idleCount };
    });
    const limit = 'Connections to the database that this process may open (DATABASE_POOL_SIZE)';
    metrics.gauge({ name: 'database_pool_connections_max', help: limit }, () => config.database.poolSize);
    const waiting = 'Statements and transactions of this process that wait for a connection';
    metrics.gauge({ name: 'database_pool_waiting', help: waiting }, () => poolOf(dataSource).waitingCount);
  }
}
