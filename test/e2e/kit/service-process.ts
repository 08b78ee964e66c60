import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { waitFor } from '../../setup/wait-for';

const ROOT = join(__dirname, '../../..');
const MAIN = join(ROOT, 'dist/main.js');
/** For processes that a test starts: they load faster, and optimize their code as late as the test does (scripts/test.mjs). */
export const ENGINE_FLAGS = [
  ...process.execArgv.filter((flag) => flag.startsWith('--interrupt-budget')),
  ...['--require', join(__dirname, 'load-faster.cjs')],
];
/** Any 32 bytes: test databases live for seconds. */
export const MASTER_KEY = Buffer.alloc(32, 'waybill').toString('base64');

interface LogLine {
  level: string;
  msg: string;
  [field: string]: unknown;
}

/** The built service as a real process, as an operator starts it; every port is ephemeral. */
export class ServiceProcess {
  readonly lines: LogLine[] = [];
  /** Standard output that was no JSON line, and standard error. */
  other = '';
  /** It has exited, and all that it has written has been read. */
  private ended = false;

  private constructor(readonly child: ChildProcess) {
    if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => this.read(line));
    child.stderr!.on('data', (chunk: Buffer) => (this.other += chunk.toString()));
    child.once('close', () => (this.ended = true));
  }

  /**
   * Starts it without waiting for anything.
   * @param stdout a file descriptor for the log, instead of `lines`
   */
  static launch(env: Record<string, string>, stdout: 'pipe' | number = 'pipe'): ServiceProcess {
    const child = spawn(process.execPath, [...ENGINE_FLAGS, MAIN], {
      cwd: env.WAYBILL_DATA_DIR ?? ROOT,
      env: {
        PATH: process.env.PATH,
        PORT: '0',
        METRICS_PORT: '0',
        INBOUND_SMTP_PORT: '0',
        SUBMISSION_PORT: '0',
        SUBMISSIONS_PORT: '0',
        DNS_PORT: '0',
        HOST: '127.0.0.1',
        // Nothing responds there: no test uses the resolvers of the machine.
        DNS_SERVERS: '127.0.0.1:9',
        ...(env.DATABASE_URL && { MASTER_KEY }),
        ...env,
      },
      stdio: ['ignore', stdout, 'pipe'],
      // A group of its own, so that a signal can reach it as Ctrl-C does.
      detached: true,
    });
    return new ServiceProcess(child);
  }

  /** Starts it and waits until it is ready. */
  static async start(env: Record<string, string>): Promise<ServiceProcess> {
    const service = ServiceProcess.launch(env);
    try {
      await waitFor(() => service.ended || service.line('ready') !== undefined, {
        what: 'the service',
      });
      if (service.ended) throw new Error(`The service ended at its start:\n${service.describe()}`);
    } catch (error) {
      await service.kill('SIGKILL');
      throw error;
    }
    return service;
  }

  get port(): number {
    return Number(this.line('ready')?.port);
  }

  get metricsPort(): number {
    return Number(this.line('ready')?.metricsPort);
  }

  /** Null until its last line has been read: a process may have exited before. */
  get exitCode(): number | null {
    return this.ended ? this.child.exitCode : null;
  }

  line(msg: string): LogLine | undefined {
    return this.lines.find((line) => line.msg === msg);
  }

  /** Sends a signal to the whole group, as a terminal does, and waits for the end. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    if (this.ended) return;
    const ended = once(this.child, 'close');
    const hasExited = this.child.exitCode !== null || this.child.signalCode !== null;
    if (!hasExited) process.kill(-this.child.pid!, signal);
    await ended;
  }

  stop(): Promise<void> {
    return this.kill('SIGTERM');
  }

  describe(): string {
    return [...this.lines.map((line) => JSON.stringify(line)), this.other].join('\n');
  }

  private read(line: string): void {
    try {
      this.lines.push(JSON.parse(line) as LogLine);
    } catch {
      this.other += `${line}\n`;
    }
  }
}
