import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { Client } from 'pg';

/** What a connection leaves behind for its next user. */
const OF_A_SESSION =
  /^\s*(?:listen|unlisten|prepare|deallocate|create temp|set (?!local|transaction)|declare .* with hold)|pg_(?:try_)?advisory_(?:lock|unlock)|set_config\([^)]*false\s*\)/i;

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const text = (value: string): Buffer => Buffer.from(`${value}\0`);
const message = (type: string, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
};

/** Cuts a stream into messages: a type, a length, a body. */
class Messages {
  private rest = Buffer.alloc(0);

  take(chunk: Buffer): { type: string; body: Buffer; whole: Buffer }[] {
    this.rest = Buffer.concat([this.rest, chunk]);
    const found = [];
    while (this.rest.length >= 5) {
      const length = 1 + this.rest.readInt32BE(1);
      if (this.rest.length < length) break;
      const whole = this.rest.subarray(0, length);
      found.push({ type: String.fromCharCode(whole[0] as number), body: whole.subarray(5), whole });
      this.rest = this.rest.subarray(length);
    }
    return found;
  }
}

/** Replies that the client has not requested, and statements that are complete only with their reply. */
interface Expected {
  readonly answer: '1' | '3';
  readonly isOurs: boolean;
  readonly statement: string;
  /** The number of the synchronization that ends its batch. */
  readonly sync: number;
}

class Backend {
  readonly prepared = new Set<string>();
  expected: Expected[] = [];
  sent = 0;
  answered = 0;
  client: Frontend | undefined;

  constructor(readonly socket: Socket) {}

  get isFree(): boolean {
    return this.client === undefined;
  }
}

class Frontend {
  readonly statements = new Map<string, Buffer>();
  readonly waiting: { type: string; body: Buffer; whole: Buffer }[] = [];
  backend: Backend | undefined;

  constructor(readonly socket: Socket) {}
}

/**
 * A pooler in transaction mode, as PgBouncer 1.21 and later: a client has a server's connection from the first message of a
 * transaction to its end, and named statements follow it from one to the next (`max_prepared_statements`). Nothing is reset in
 * between, and what belongs to a session is noted in `leaks`.
 */
export class TransactionPooler {
  readonly leaks: string[] = [];
  /** How often a transaction found its client on another connection than the one before. */
  moves = 0;
  private readonly frontends = new Set<Frontend>();
  private readonly queue: Frontend[] = [];

  private constructor(
    private readonly server: Server,
    private readonly backends: readonly Backend[],
    readonly url: string,
    private readonly keepsStatements: boolean,
  ) {
    server.on('connection', (socket) => this.greet(socket));
    for (const backend of backends) this.listen(backend);
  }

  /** @param keepsStatements false: as PgBouncer before 1.21, which leaves named statements where they were prepared */
  static async start(url: string, size: number, keepsStatements = true): Promise<TransactionPooler> {
    const clients = Array.from(
      { length: size },
      () => new Client({ connectionString: url, application_name: 'pooler' }),
    );
    const backends = await Promise.all(
      clients.map(async (client) => {
        client.on('error', () => undefined);
        await client.connect();
        const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
        stream.removeAllListeners('data');
        return new Backend(stream);
      }),
    );
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const own = new URL(url);
    own.port = String((server.address() as { port: number }).port);
    return new TransactionPooler(server, backends, own.toString(), keepsStatements);
  }

  async stop(): Promise<void> {
    for (const { socket } of this.frontends) socket.destroy();
    for (const { socket } of this.backends) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private greet(socket: Socket): void {
    socket.on('error', () => undefined);
    socket.once('data', (startup: Buffer) => {
      if (startup.readInt32BE(4) !== 196_608) return void socket.destroy();
      const parameters = { server_version: '18.0', client_encoding: 'UTF8', DateStyle: 'ISO, MDY', TimeZone: 'UTC', integer_datetimes: 'on', standard_conforming_strings: 'on' }; // prettier-ignore
      socket.write(
        Buffer.concat([
          message('R', int32(0)),
          ...Object.entries(parameters).map(([name, value]) => message('S', text(name), text(value))),
          message('K', int32(1), int32(1)),
          message('Z', Buffer.from('I')),
        ]),
      );
      const frontend = new Frontend(socket);
      const messages = new Messages();
      this.frontends.add(frontend);
      socket.on('data', (chunk: Buffer) => {
        for (const each of messages.take(chunk)) this.receive(frontend, each);
      });
      socket.on('close', () => this.frontends.delete(frontend));
    });
  }

  private receive(frontend: Frontend, each: Frontend['waiting'][number]): void {
    if (each.type === 'X') return;
    frontend.waiting.push(each);
    if (frontend.backend) return this.flush(frontend);
    if (!this.queue.includes(frontend)) this.queue.push(frontend);
    this.serve();
  }

  /** Gives free connections to those who wait, another one than last time if there is any. */
  private serve(): void {
    for (let free = this.free(); free && this.queue.length > 0; free = this.free()) {
      const frontend = this.queue.shift() as Frontend;
      free.client = frontend;
      frontend.backend = free;
      this.flush(frontend);
    }
  }

  private turn = 0;

  private free(): Backend | undefined {
    const ordered = [...this.backends.slice(this.turn), ...this.backends.slice(0, this.turn)];
    const found = ordered.find(({ isFree }) => isFree);
    if (found && this.queue.length > 0) {
      this.turn = (this.backends.indexOf(found) + 1) % this.backends.length;
      this.moves += 1;
    }
    return found;
  }

  private flush(frontend: Frontend): void {
    for (const each of frontend.waiting.splice(0)) this.forward(frontend, frontend.backend as Backend, each);
  }

  private forward(frontend: Frontend, backend: Backend, { type, body, whole }: Frontend['waiting'][number]): void {
    const { socket } = backend;
    if (type === 'Q') this.note(body.toString().replace(/\0$/, ''));
    if (type === 'P' && this.keepsStatements) return this.parse(frontend, backend, body);
    if (type === 'B' && this.keepsStatements) {
      const portalEnd = body.indexOf(0) + 1;
      const nameEnd = body.indexOf(0, portalEnd) + 1;
      const name = this.ready(frontend, backend, body.toString('utf8', portalEnd, nameEnd - 1));
      socket.write(message('B', body.subarray(0, portalEnd), text(name), body.subarray(nameEnd)));
      return;
    }
    if (type === 'D' && body[0] === 'S'.charCodeAt(0) && this.keepsStatements) {
      const name = this.ready(frontend, backend, body.toString('utf8', 1, body.length - 1));
      socket.write(message('D', Buffer.from('S'), text(name)));
      return;
    }
    if (type === 'S' || type === 'Q') backend.sent += 1;
    socket.write(whole);
  }

  private parse(frontend: Frontend, backend: Backend, body: Buffer): void {
    const nameEnd = body.indexOf(0) + 1;
    const name = body.toString('utf8', 0, nameEnd - 1);
    const rest = Buffer.from(body.subarray(nameEnd));
    this.note(rest.toString('utf8', 0, rest.indexOf(0)));
    if (name !== '') frontend.statements.set(name, rest);
    this.prepare(backend, name === '' ? '' : globalName(rest), rest, false);
  }

  /** Prepares a statement of the client on the connection if needed; returns its name there. */
  private ready(frontend: Frontend, backend: Backend, name: string): string {
    const statement = frontend.statements.get(name);
    if (name === '' || !statement) return name;
    const known = globalName(statement);
    if (!backend.prepared.has(known)) this.prepare(backend, known, statement, true);
    return known;
  }

  private prepare(backend: Backend, statement: string, rest: Buffer, isOurs: boolean): void {
    const sync = backend.sent + 1;
    if (statement !== '') {
      backend.socket.write(message('C', Buffer.from('S'), text(statement)));
      backend.expected.push({ answer: '3', isOurs: true, statement: '', sync });
      backend.prepared.add(statement);
    }
    backend.socket.write(message('P', text(statement), rest));
    backend.expected.push({ answer: '1', isOurs, statement, sync });
  }

  private listen(backend: Backend): void {
    const messages = new Messages();
    backend.socket.on('data', (chunk: Buffer) => {
      for (const { type, body, whole } of messages.take(chunk)) this.answer(backend, type, body, whole);
    });
    backend.socket.on('error', () => undefined);
  }

  private answer(backend: Backend, type: string, body: Buffer, whole: Buffer): void {
    if (type === 'A') return;
    if (type === '1' || type === '3') {
      const index = backend.expected.findIndex(({ answer }) => answer === type);
      const [expected] = index < 0 ? [] : backend.expected.splice(index, 1);
      if (expected?.isOurs) return;
    }
    backend.client?.socket.write(whole);
    if (type !== 'Z') return;
    backend.answered += 1;
    // After an error the rest of a batch is passed over, and what it would have prepared is not known.
    for (const { statement, sync } of backend.expected) {
      if (sync <= backend.answered) backend.prepared.delete(statement);
    }
    backend.expected = backend.expected.filter(({ sync }) => sync > backend.answered);
    if (backend.answered < backend.sent || body.toString() !== 'I') return;
    const { client } = backend;
    backend.client = undefined;
    if (client) client.backend = undefined;
    this.serve();
  }

  private note(sql: string): void {
    if (OF_A_SESSION.test(sql)) this.leaks.push(sql.trim().slice(0, 100));
  }
}

function globalName(statement: Buffer): string {
  return `p_${createHash('sha1').update(statement).digest('hex')}`;
}
