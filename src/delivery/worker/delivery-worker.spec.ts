import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AppConfig } from '../../config/config';
import { DatabaseUrl } from '../../database/pool/database.service';
import { waitFor } from '../../../test/setup/wait-for';
import type { ClaimedDelivery } from '../ports/delivery';
import { CrashRecovery } from './crash-recovery';
import { DeliveryWorker } from './delivery-worker';
import { type Called, WorkSignal } from './session/work-signal';

const NOISY = 'noisy';
const config = { delivery: { concurrency: 10, drainSeconds: 1 } } as AppConfig;
const claimFor = (organizationId: string) => ({ organizationId }) as ClaimedDelivery;

/** A worker whose claim for `NOISY` is being loaded until `loaded`; every other claim is taken at once. */
function startWorker({
  isNewcomer = true,
  recovery = { run: () => Promise.resolve() } as unknown as CrashRecovery,
} = {}) {
  let loaded = (): void => undefined;
  const loading = new Promise<void>((resolve) => (loaded = resolve));
  const taken: string[] = [];
  const claimer = {
    hasRoom: true,
    isNewcomer: () => isNewcomer,
    claimNext: jest
      .fn()
      .mockResolvedValueOnce([claimFor(NOISY)])
      .mockResolvedValue([]),
    claimOnlyFor: jest.fn((_session: string, ids: string[]) =>
      Promise.resolve({ claims: ids.map(claimFor), mayBeMore: false }),
    ),
  };
  const pipeline = {
    size: 0,
    take: (claims: ClaimedDelivery[]) => {
      taken.push(...claims.map(({ organizationId }) => organizationId));
      return claims[0]?.organizationId === NOISY ? loading : Promise.resolve();
    },
    close: () => Promise.resolve(true),
  };
  // Nothing listens there: a worker that hears no notifications is called by the test.
  const signal = new WorkSignal(new DatabaseUrl('postgres://127.0.0.1:1/none'), {
    wake: jest.fn(),
  } as never);
  const worker = new DeliveryWorker(
    { id: 'session', prepare: () => Promise.resolve(true), end: () => Promise.resolve() } as never,
    claimer as never,
    recovery,
    pipeline as never,
    signal,
    config,
  );
  worker.onApplicationBootstrap();
  const call = (...ids: string[]) => signal.call({ organizationIds: new Set(ids), isForSome: false });
  const stop = async () => {
    loaded();
    await worker.stop();
  };
  return { claimer, pipeline, taken, signal, call, loaded, stop };
}

const has = (taken: readonly string[], id: string) =>
  waitFor(() => taken.includes(id), { what: `claims for ${id} to be taken` });

/** In a claim of the loop. */
const isNamed = ({ claimNext }: { claimNext: jest.Mock }, id: string) =>
  waitFor(() => claimNext.mock.calls.some(([, called]) => (called as Called).organizationIds?.has(id)), {
    what: `the next claim to look for ${id}`,
  });

describe('DeliveryWorker', () => {
  it('claims for tenants that have just come while a claim for others is being loaded', async () => {
    const { taken, call, claimer, stop } = startWorker();
    await has(taken, NOISY);
    call('quiet', 'another');
    await has(taken, 'another');
    expect(taken).toEqual([NOISY, 'quiet', 'another']);
    expect(claimer.claimOnlyFor.mock.calls).toEqual([['session', ['quiet', 'another']]]);
    await stop();
  });

  it.each([
    ['with much in hand', { isNewcomer: false, size: 0 }],
    ['when it has all that it can hold', { isNewcomer: true, size: 80 }],
  ])('leaves what has come for tenants %s to its next claim', async (_which, state) => {
    const { taken, call, claimer, pipeline, signal, loaded, stop } = startWorker({ isNewcomer: state.isNewcomer });
    await has(taken, NOISY);
    pipeline.size = state.size;
    call('quiet');
    pipeline.size = 0;
    loaded();
    await isNamed(claimer, 'quiet');
    expect(claimer.claimOnlyFor).not.toHaveBeenCalled();
    expect(signal.takeCalled().organizationIds?.size).toBe(0);
    await stop();
  });

  it('looks again in its next claim for what it did not get all of', async () => {
    const { taken, call, claimer, loaded, stop } = startWorker();
    claimer.claimOnlyFor.mockResolvedValue({ claims: [claimFor('quiet')], mayBeMore: true });
    await has(taken, NOISY);
    call('quiet');
    await has(taken, 'quiet');
    loaded();
    await isNamed(claimer, 'quiet');
    expect(claimer.claimOnlyFor).toHaveBeenCalledTimes(1);
    await stop();
  });

  describe('while a suspect is tried', () => {
    /** A recovery that finds suspects from the second step on, and tries them until `end`. */
    function recoveryWithSuspect() {
      let [nowMs, hasSuspect] = [0, false];
      let end = (): void => undefined;
      const ended = new Promise<void>((resolve) => (end = resolve));
      const claimSuspects = jest.fn(() => ended.then(() => []));
      const parts = [
        { takeAll: () => Promise.resolve() },
        { hasSuspect: () => Promise.resolve(hasSuspect || !(hasSuspect = true)), claimSuspects },
        { isIdleWithin: () => Promise.resolve(true), isClosing: false },
        { heldBack: () => ({ all: false, destinations: [] }) },
        { id: 'session' },
        // As if each step took long enough for the next to look for suspects.
        { isReliable: true, monotonicMs: () => (nowMs += 600) },
      ] as unknown as ConstructorParameters<typeof CrashRecovery>;
      return { recovery: new CrashRecovery(...parts), claimSuspects, end };
    }

    const isTried = (claimSuspects: jest.Mock) =>
      waitFor(() => claimSuspects.mock.calls.length > 0, { what: 'the trial to begin' });

    it('claims nothing beside the trial, and what has come meanwhile after it', async () => {
      const { recovery, claimSuspects, end } = recoveryWithSuspect();
      const { taken, call, claimer, loaded, stop } = startWorker({ recovery });
      await has(taken, NOISY);
      loaded();
      await isTried(claimSuspects);
      call('quiet');
      expect(claimer.claimOnlyFor).not.toHaveBeenCalled();
      end();
      await isNamed(claimer, 'quiet');
      await stop();
    });

    it('begins the trial when what was being claimed beside the loop is in hand', async () => {
      const { recovery, claimSuspects, end } = recoveryWithSuspect();
      const { taken, call, claimer, loaded, stop } = startWorker({ recovery });
      const order: string[] = [];
      claimSuspects.mockImplementation(() => (order.push('tried'), Promise.resolve([])));
      claimer.claimOnlyFor.mockImplementation(async (_session, ids) => {
        loaded();
        // As long as the loop needs to come to the trial, if nothing keeps it.
        for (let turns = 0; turns < 20; turns += 1) await nextTurn();
        order.push('claimed');
        return { claims: ids.map(claimFor), mayBeMore: false };
      });
      await has(taken, NOISY);
      call('quiet');
      await isTried(claimSuspects);
      expect(order.slice(0, 2)).toEqual(['claimed', 'tried']);
      end();
      await stop();
    });
  });
});

describe('WorkSignal', () => {
  const LET_IN = Buffer.from('5200000008000000005a0000000549', 'hex');
  const LISTENS = Buffer.from('430000000b4c495354454e005a0000000549', 'hex');

  /** As much of Postgres as a listener needs; it ends no connection. It replies to each `listen` but the first. */
  async function startDatabase() {
    const sockets: Socket[] = [];
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      const isFirst = sockets.push(socket) === 1;
      socket.on('error', () => undefined).once('data', () => socket.write(LET_IN));
      socket.on('data', (data) => {
        if (data.includes('listen ') && !isFirst) socket.write(LISTENS);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const stop = () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    };
    return { url: `postgres://waybill@127.0.0.1:${port}/none`, sockets, stop };
  }

  class ImpatientSignal extends WorkSignal {
    protected override readonly queryTimeoutMs = 50;
  }

  it('connects again when the database lets it in and does not reply, and stops when that does not close its end', async () => {
    const { url, sockets, stop } = await startDatabase();
    const signal = new ImpatientSignal(new DatabaseUrl(url), { wake: jest.fn() } as never);
    await new Promise<void>((resolve) => signal.start(resolve));
    expect(sockets).toHaveLength(2);
    await signal.stop();
    expect(sockets[1]?.destroyed).toBe(false);
    stop();
  });
});
