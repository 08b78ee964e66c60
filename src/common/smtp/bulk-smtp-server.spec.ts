import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { SMTPStream } from 'smtp-server/lib/smtp-stream.js';
import { reset } from '../../../test/doubles/reset-socket';
import { PerTurn } from '../../../test/setup/loop-turns';
import { waitFor } from '../../../test/setup/wait-for';
import { SharedTurns } from '../async/shared-turns';
import { BulkSmtpServer, readInBulk, readInTurns } from './bulk-smtp-server';

interface Read {
  readonly content: string;
  readonly commands: readonly string[];
}

/** What a parser makes of DATA that comes in these pieces, and which commands it reads behind it. */
async function read(parser: SMTPStream, pieces: readonly string[]): Promise<Read> {
  const commands: string[] = [];
  let content = '';
  parser.oncommand = (command, next) => {
    commands.push(command.toString());
    next?.();
  };
  const stream = parser.startDataMode();
  stream.on('data', (chunk: Buffer) => (content += chunk.toString('latin1')));
  stream.on('end', () => parser.continue());
  for (const piece of pieces) await new Promise((resolve) => parser.write(Buffer.from(piece, 'latin1'), resolve));
  await new Promise((resolve) => setImmediate(resolve));
  return { content, commands };
}

describe('DATA that is read in bulk', () => {
  it('is what the library reads, wherever it is cut', async () => {
    const unit = fc.constantFrom(
      '.',
      '.',
      '..',
      '\r\n',
      '\r\n',
      '\r\n.',
      '\r\n..',
      '\n',
      '\r',
      'a',
      'bcd',
      '\r\n.\r',
      '\n.\r\n',
    );
    const pieces = fc.array(
      fc.array(unit, { minLength: 1, maxLength: 5 }).map((units) => units.join('')),
      { maxLength: 6 },
    );
    await fc.assert(
      fc.asyncProperty(pieces, async (given) => {
        const all = [...given, 'x\r\n.', '\r\nNOOP\r\n'];
        expect(await read(readInBulk(new SMTPStream()), all)).toEqual(await read(new SMTPStream(), all));
      }),
      { numRuns: 1_500 },
    );
  });

  it('is written once for a piece, however many dots are in it', async () => {
    const parser = readInBulk(new SMTPStream());
    const write = jest.spyOn(parser.startDataMode(), 'write');
    await new Promise((resolve) => parser.write(Buffer.from('..\r\n'.repeat(4_000)), resolve));
    expect(write).toHaveBeenCalledTimes(1);
    expect(write.mock.calls[0]?.[0]).toHaveLength(3 * 4_000 - 3);
  });
});

describe('commands that are read in turns', () => {
  it('are few in a turn of the event loop, in order, and none once the parser is closed', async () => {
    let nowMs = 0;
    const parser = new SMTPStream();
    const done: string[] = [];
    parser.oncommand = (command, next) => {
      nowMs += 1;
      done.push(command.toString());
      next?.();
    };
    readInTurns(parser, 'a', new SharedTurns(() => nowMs));
    const all = Array.from({ length: 60 }, (_, index) => `NOOP ${index}`);
    parser.write(Buffer.from(`${all.join('\r\n')}\r\n`));
    expect(done.length).toBeLessThanOrEqual(5);
    while (done.length < 50) await new Promise((resolve) => setImmediate(resolve));
    parser.isClosed = true;
    const count = done.length;
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(done).toEqual(all.slice(0, count));
    expect(count).toBeLessThan(60);
  });

  it('share a turn with those of the same /64 of IPv6', async () => {
    const turns = new SharedTurns();
    const holders = jest.spyOn(turns, 'run');
    for (const address of [
      '2001:db8:1:2::1',
      '2001:db8:1:2:3:4:5:6',
      '2001:db8:1:3::1',
      '::ffff:192.0.2.1',
      '192.0.2.1',
    ]) {
      const parser = readInTurns(new SMTPStream(), address, turns);
      await new Promise((resolve) => parser.write(Buffer.from('NO'), resolve));
    }
    const [one, same, other, mapped, four] = holders.mock.calls.map(([holder]) => holder);
    expect([same, mapped]).toEqual([one, four]);
    expect(other).not.toBe(one);
  });
});

describe('connections that do the same at the same moment', () => {
  const CLIENTS = 150;
  /** Pieces that a turn has time for: what waits and what comes may each take them. */
  const MOST = 10;

  /** A server whose clock moves on with each piece of work, and its clients, greeted. */
  async function serve(): Promise<{ server: BulkSmtpServer; closings: PerTurn; clients: Socket[] }> {
    let nowMs = 0;
    const options = {
      disabledCommands: ['STARTTLS', 'AUTH'],
      logger: false,
      disableReverseLookup: true,
      closeTimeout: 1,
    };
    const server = new BulkSmtpServer(options, undefined, new SharedTurns(() => (nowMs += 1)));
    const closings = new PerTurn();
    server.server.on('connection', (socket) => socket.on('close', () => closings.count()));
    server.on('error', () => undefined);
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.server.address() as AddressInfo;
    const greeted = Array.from({ length: CLIENTS }, async () => {
      const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
      await once(client, 'data');
      return client;
    });
    return { server, closings, clients: await Promise.all(greeted) };
  }

  it.each([
    ['end', (client: Socket) => void client.end()],
    ['are reset', reset],
    ['send a command, and are reset', (client: Socket) => (client.write('NOOP\r\n'), reset(client))],
  ])('%s: few are closed in a turn of the event loop', async (_name, act) => {
    const { server, closings, clients } = await serve();
    for (const client of clients) act(client);
    await waitFor(() => closings.total === CLIENTS, { what: 'all to close' });
    expect(closings.most).toBeLessThanOrEqual(MOST);
    expect(server.connections.size).toBe(0);
    await new Promise<void>((resolve) => server.close(resolve));
  });

  it('are idle for too long: few get their 421 in a turn of the event loop', async () => {
    const { server, clients } = await serve();
    const ended = new PerTurn();
    for (const connection of server.connections) {
      const send = connection.send.bind(connection);
      connection.send = (...reply) => (ended.count(), send(...reply));
    }
    for (const connection of [...server.connections]) connection._onTimeout();
    for (const client of clients) client.resume().once('end', () => client.end());
    await waitFor(() => clients.every(({ closed }) => closed), { what: 'all to close' });
    expect(ended.total).toBe(CLIENTS);
    expect(ended.most).toBeLessThanOrEqual(MOST);
    await new Promise<void>((resolve) => server.close(resolve));
  });
});
