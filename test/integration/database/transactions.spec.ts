import fc from 'fast-check';
import type { DataSource } from 'typeorm';
import { CommitUnknownError, UnavailableError } from '../../../src/common/errors/app-error';
import { Database } from '../../../src/database/pool/database.service';
import { createDataSource, poolOf } from '../../../src/database/pool/data-source';
import { TextArray } from '../../../src/database/statements/pg-array';
import type { Transaction } from '../../../src/database/statements/transaction';
import { type OpenTestDatabase, openTestDatabase, statement } from '../../setup/open-test-database';
import { waitFor } from '../../setup/wait-for';
import { anyCharacter } from '../../factories/any-character';

describe('Database', () => {
  let observer: OpenTestDatabase;
  let database: Database;
  let dataSource: DataSource;

  beforeAll(async () => {
    observer = await openTestDatabase({ poolSize: 2 });
    dataSource = await createDataSource(observer.url, { poolSize: 2 }).initialize();
    database = new Database(dataSource);
    await observer.query('create table notes (id int primary key, text text)');
  });
  afterEach(() => observer.query('truncate notes'));
  afterAll(async () => {
    await dataSource.destroy();
    await observer.drop();
  });

  const insert = (id: number) => statement<never>('insert into notes (id) values ($1)', [id]);
  const ids = async () =>
    (await observer.query<{ id: number }>('select id from notes order by id')).map(({ id }) => id);

  /** Ends the transaction's connection on the server, and gives this side the time to notice it. */
  async function killConnection(tx: Transaction): Promise<void> {
    const [row] = await tx.run(statement<{ pid: number }>('select pg_backend_pid() as pid'));
    const pid = row?.pid;
    await observer.query('select pg_terminate_backend($1)', [pid]);
    const left = () => observer.query('select from pg_stat_activity where pid = $1', [pid]);
    await waitFor(async () => (await left()).length === 0, { what: 'the connection to end' });
    await left();
  }

  it('reads a snapshot as of one moment, and writes nothing in it', async () => {
    const count = statement<{ notes: number }>('select count(*)::int as notes from notes');
    const seen = await database.snapshot(async (tx) => {
      const [before] = await tx.run(count);
      await observer.query('insert into notes (id) values (1)');
      const [after] = await tx.run(count);
      return [before, after];
    });
    expect(seen).toEqual([{ notes: 0 }, { notes: 0 }]);
    await expect(database.snapshot((tx) => tx.run(insert(2)))).rejects.toMatchObject({ code: expect.any(String) });
    expect(await ids()).toEqual([1]);
  });

  it('does nothing in a transaction that has ended: its connection serves others', async () => {
    let left: Transaction | undefined;
    await database.transaction((tx) => Promise.resolve((left = tx)));
    await expect(left?.run(insert(3))).rejects.toThrow('The transaction has ended');
    expect(() => left?.write(insert(3))).toThrow('The transaction has ended');
    expect(() => left?.manager).toThrow('The transaction has ended');
    const failing = (tx: Transaction) => Promise.reject(((left = tx), new Error('no')));
    await expect(database.transaction(failing)).rejects.toThrow('no');
    await expect(left?.run(insert(3))).rejects.toThrow('The transaction has ended');
    expect(await ids()).toEqual([]);
  });

  it('tells a commit of which nobody knows whether it happened from what is not written', async () => {
    const end = statement<never>('select pg_terminate_backend(pg_backend_pid())');
    await observer.query(`
      create function end_connection() returns trigger language plpgsql as $$
        begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
      create constraint trigger at_commit after insert on notes deferrable initially deferred
        for each row when (new.text = 'end') execute function end_connection()`);
    const last = statement<never>(`insert into notes values (1, 'end')`);
    await expect(database.run(end)).rejects.toThrow(CommitUnknownError);
    await expect(database.transaction((tx) => tx.run(last))).rejects.toThrow(CommitUnknownError);
    await expect(database.transaction((tx) => Promise.resolve(tx.write(last)))).rejects.toThrow(CommitUnknownError);
    const early = await database.transaction((tx) => tx.run(end)).catch((error: unknown) => error);
    expect(early).toBeInstanceOf(UnavailableError);
    expect(early).not.toBeInstanceOf(CommitUnknownError);
    await expect(database.run(statement('select 1 / 0'))).rejects.toMatchObject({ code: '22012' });
    expect(await ids()).toEqual([]);
  });

  it('plans by index whatever the connection brings along, and leaves no setting behind', async () => {
    const settings = statement<{ off: string[] | null }>(`
      select array_agg(name order by name) as off
      from pg_settings
      where name in ('enable_hashjoin', 'enable_mergejoin', 'enable_seqscan', 'jit') and setting = 'off'`);
    const off = [{ off: ['enable_hashjoin', 'enable_mergejoin', 'enable_seqscan', 'jit'] }];
    expect(await database.run(settings)).toEqual(off);
    expect(await database.transaction((tx) => tx.run(settings))).toEqual(off);
    expect(await database.snapshot((tx) => tx.run(settings))).toEqual(off);
    expect((await poolOf(dataSource).query(settings.text)).rows).toEqual([{ off: null }]);
  });

  it('plans a statement once for any values only where the statement demands it', async () => {
    const mode = statement<{ mode: string }>(`select current_setting('plan_cache_mode') as mode`);
    const once = { ...mode, isPlannedOnce: true } as const;
    expect(await database.run(once)).toEqual([{ mode: 'force_generic_plan' }]);
    expect(await database.runAll([once, mode])).toEqual([[{ mode: 'auto' }], [{ mode: 'auto' }]]);
    expect(await database.run(mode)).toEqual([{ mode: 'auto' }]);
  });

  it('reads a whole table in the order of its pages only where the statement demands it', async () => {
    const settings = statement<{ scans: string }>(
      `select current_setting('enable_seqscan') || ' ' || current_setting('enable_indexscan') as scans`,
    );
    const scan = { ...settings, isScan: true } as const;
    expect(await database.run(scan)).toEqual([{ scans: 'on off' }]);
    expect(await database.runAll([scan, settings])).toEqual([[{ scans: 'off on' }], [{ scans: 'off on' }]]);
  });

  it('continues with the connection of a failed statement', async () => {
    const pid = statement<{ pid: number }>('select pg_backend_pid() as pid');
    const pids = new Set<number>();
    for (let turn = 0; turn < 6; turn += 1) {
      await expect(database.run(statement('select 1 / 0'))).rejects.toMatchObject({ code: '22012' });
      for (const row of await database.run(pid)) pids.add(row.pid);
    }
    expect(pids.size).toBe(1);
  });

  it('hands arrays of texts on as they are', async () => {
    const echo = (texts: readonly (string | null)[]) =>
      database.run(
        statement<{ text: string | null }>('select text from unnest($1::text[]) as given (text)', [
          new TextArray(texts),
        ]),
      );
    const character = fc.string({ unit: anyCharacter }).map((text) => text.replaceAll('\0', ''));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(character), { maxLength: 20 }), async (texts) => {
        expect((await echo(texts)).map(({ text }) => text)).toEqual(texts);
      }),
    );
  });

  it('commits all statements of the work in one transaction', async () => {
    const answer = await database.transaction(async (tx) => {
      await tx.run(insert(1));
      await tx.manager.query('insert into notes (id) values (2)');
      expect(await ids()).toEqual([]);
      return 'done';
    });
    expect(answer).toBe('done');
    expect(await ids()).toEqual([1, 2]);
  });

  it('undoes everything when the work fails, with the error of the work', async () => {
    const failure = new Error('changed my mind');
    await expect(
      database.transaction(async (tx) => {
        await tx.run(insert(1));
        throw failure;
      }),
    ).rejects.toBe(failure);
    expect(await ids()).toEqual([]);
  });

  it('commits writes whose results no caller waited for', async () => {
    await database.transaction(async (tx) => {
      tx.write(insert(1));
      await tx.run(insert(2));
      tx.write(insert(3));
    });
    expect(await ids()).toEqual([1, 2, 3]);
  });

  it.each(['the commit', 'another write', 'a statement'])(
    'a write that fails before %s undoes everything, with its own error',
    async (next) => {
      const refused = database.transaction(async (tx) => {
        tx.write(insert(1));
        tx.write(insert(1));
        if (next === 'another write') tx.write(insert(2));
        if (next === 'a statement') await tx.run(insert(2));
      });
      await expect(refused).rejects.toMatchObject({ code: '23505' });
      expect(await ids()).toEqual([]);
      await Promise.all([3, 4, 5].map((id) => database.transaction((tx) => tx.run(insert(id)))));
      expect(await ids()).toEqual([3, 4, 5]);
    },
  );

  it('hands arrays on as they are', async () => {
    const given = ['a "quoted" \\ text', '', 'NULL', '{},', 'line\nfeed', null];
    const [row] = await database.run(
      statement<{ texts: string[]; numbers: number[]; times: Date[]; bytes: Buffer[] }>(
        'select $1::text[] as texts, $2::int[] as numbers, $3::timestamptz[] as times, $4::bytea[] as bytes',
        [given, [1, null, -3], [new Date(0), null], [Buffer.from([0, 255])]],
      ),
    );
    expect(row).toEqual({
      texts: given,
      numbers: [1, null, -3],
      times: [new Date(0), null],
      bytes: [Buffer.from([0, 255])],
    });
  });

  it.each(['the commit', 'a statement', 'a query of the ORM'])('a connection that breaks before %s', async (next) => {
    const lost = database.transaction(async (tx) => {
      await tx.run(insert(1));
      await killConnection(tx);
      if (next === 'a statement') await tx.run(insert(2));
      if (next === 'a query of the ORM') await tx.manager.query('insert into notes (id) values (2)');
    });
    await expect(lost).rejects.toBeInstanceOf(UnavailableError);
    expect(await ids()).toEqual([]);
    // The pool is none the worse.
    await Promise.all([3, 4, 5].map((id) => database.transaction((tx) => tx.run(insert(id)))));
    expect(await ids()).toEqual([3, 4, 5]);
  });

  it('two that lock the same rows in opposite order both succeed', async () => {
    await observer.query('insert into notes (id) values (1), (2)');
    const locked: number[] = [];
    const lock = (first: number, second: number) =>
      database.transaction(async (tx) => {
        const touch = (id: number) =>
          tx.run(statement(`update notes set text = coalesce(text, '') || 'x' where id = $1`, [id]));
        await touch(first);
        locked.push(first);
        await waitFor(() => locked.length >= 2, { what: 'both to hold a lock' });
        await touch(second);
      });
    await Promise.all([lock(1, 2), lock(2, 1)]);
    expect(locked.length).toBeGreaterThan(2);
    expect(await observer.query('select text from notes')).toEqual([{ text: 'xx' }, { text: 'xx' }]);
  });

  it('throws when a failed statement went unnoticed', async () => {
    const careless = database.transaction(async (tx) => {
      await tx.run(insert(1));
      await tx.run(insert(1)).catch(() => undefined);
    });
    await expect(careless).rejects.toThrow();
    expect(await ids()).toEqual([]);
  });

  describe('a failure that Postgres raises because of other transactions', () => {
    beforeAll(() => observer.query('create sequence attempts'));

    /** Fails in the first `failures` runs. */
    const failing = (code: string, failures: number) =>
      statement<never>(`do $$ begin
        if nextval('attempts') <= ${failures} then raise sqlstate '${code}'; end if; end $$`);
    const attempts = async () => {
      const [row] = await observer.query<{ attempts: number }>(`select last_value::int as attempts from attempts`);
      await observer.query(`select setval('attempts', 1, false)`);
      return row?.attempts;
    };

    it.each(['40001', '40P01'])('is repeated, of statements as of a transaction: %s', async (code) => {
      await database.runAll([insert(1), failing(code, 2)]);
      expect(await attempts()).toBe(3);
      await database.run(failing(code, 4));
      expect(await attempts()).toBe(5);
      await database.transaction(async (tx) => {
        await tx.run(insert(2));
        await tx.run(failing(code, 2));
      });
      expect(await attempts()).toBe(3);
      expect(await ids()).toEqual([1, 2]);
    });

    it('makes the database unavailable after five runs; any other failure is reported at once', async () => {
      const endless = (code: string) => database.transaction((tx) => tx.run(failing(code, 100)));
      await expect(endless('40P01')).rejects.toBeInstanceOf(UnavailableError);
      expect(await attempts()).toBe(5);
      await expect(database.run(failing('40001', 100))).rejects.toBeInstanceOf(UnavailableError);
      expect(await attempts()).toBe(5);
      await expect(endless('23514')).rejects.toMatchObject({ code: '23514' });
      expect(await attempts()).toBe(1);
    });
  });

  it('single statements of a lost connection are unavailable too', async () => {
    const lost = database.run(statement('select pg_terminate_backend(pg_backend_pid())'));
    await expect(lost).rejects.toBeInstanceOf(UnavailableError);
    expect(await database.run(statement('select 1 as one'))).toEqual([{ one: 1 }]);
  });
});
