import { EventEmitter } from 'node:events';
import type { PoolClient } from 'pg';
import { PatientPool } from './patient-pool';

const WAIT_MS = 200;

/** A connection that is open once the test says so. */
class FakeClient extends EventEmitter {
  static readonly opening: FakeClient[] = [];
  readonly connection = { stream: { destroy: () => undefined } };
  /** As the driver's pool reads it. */
  readonly _queryable = true;
  private opened: () => void = () => undefined;

  connect(opened: () => void): void {
    this.opened = opened;
    FakeClient.opening.push(this);
  }

  /** As data that has arrived: read after the timers of a turn of the event loop. */
  open(): void {
    setImmediate(() => this.opened());
  }

  ref(): void {}

  unref(): void {}

  end(ended?: () => void): void {
    ended?.();
  }
}

describe('PatientPool', () => {
  const poolOf = (max: number) =>
    new PatientPool({ max, connectionTimeoutMillis: WAIT_MS, Client: FakeClient } as unknown as { max: number });
  const standStill = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * WAIT_MS);
  const openNext = () => FakeClient.opening.splice(0).forEach((client) => client.open());

  it('does not count a standstill of the process: the connection that is ready after it is given out', async () => {
    const pool = poolOf(1);
    const first = pool.connect();
    openNext();
    standStill();
    const client = await first;
    const second = pool.connect();
    setImmediate(() => client.release());
    standStill();
    expect(await second).toBe(client);
    client.release();
    await pool.end();
  });

  it('says after its time that there is none, and gives the one that is opened later to the next', async () => {
    const pool = poolOf(1);
    const both = [pool.connect(), pool.connect()];
    for (const one of both) await expect(one).rejects.toThrow('timeout exceeded when trying to connect');
    expect(pool.waitingCount).toBe(0);
    const third = new Promise<PoolClient | undefined>((resolve) => pool.connect((_error, client) => resolve(client)));
    openNext();
    const client = await third;
    expect(client).toBeInstanceOf(FakeClient);
    expect(pool.totalCount).toBe(1);
    client?.release();
    await pool.end();
  });
});
