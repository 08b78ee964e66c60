import type { LoggerService } from '@nestjs/common';
import { MINUTE } from '../clock';
import { type LeftOut, LineShares } from './line-shares';
import type { Logger } from './logger';

const START_CONTEXTS: ReadonlySet<string> = new Set([
  ...['NestFactory', 'NestApplication', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer'],
]);

const FAILED_START_CONTEXTS: ReadonlySet<string> = new Set(['NestApplication', 'ExceptionHandler']);

/** Of one text with further fields, which tell its lines apart, within the window. */
const MOST_WITH_FIELDS = 100;
/** Of the different texts of one context within the window. */
const MOST_TEXTS = 200;

/**
 * Makes Nest's messages, which are those of all services, JSON lines of the same log. A warning or an error that repeats is one line, and
 * from then on one a minute with its count: what waits for the database fails again and again, with each mail in hand.
 */
export class NestLogger implements LoggerService {
  private readonly shares = new LineShares(MINUTE);

  constructor(private readonly logger: Logger) {}

  /** Nest logs every module and route at its start: some sixty lines, which would hide "ready". */
  log(message: unknown, ...rest: unknown[]): void {
    this.write(START_CONTEXTS.has(String(rest.at(-1))) ? 'debug' : 'info', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  /**
   * Errors that prevent Nest's start are thrown too, and logged where they are caught: once, without a stack if they have a
   * text.
   */
  error(message: unknown, ...rest: unknown[]): void {
    this.write(FAILED_START_CONTEXTS.has(String(rest.at(-1))) ? 'debug' : 'error', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  /** Nest puts the context last, and for errors a stack before it. */
  private write(
    level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal',
    message: unknown,
    rest: unknown[],
  ): void {
    const context = rest.at(-1);
    const details = rest.slice(0, -1).filter((part) => part !== undefined);
    const fields = {
      ...(typeof context === 'string' && { context }),
      ...fieldsOf(message),
      ...(details.length > 0 && { details }),
    };
    const text = textOf(message);
    if ((level === 'warn' || level === 'error') && !this.fits(level, text, String(context), isLine(message))) return;
    this.logger[level](fields, text);
  }

  private fits(level: 'warn' | 'error', text: string, context: string, hasFields: boolean): boolean {
    const name = `${level} ${context} ${text}`;
    const isKnown = this.shares.has(name);
    const sumUpContext = (left: LeftOut) => this.logger[level]({ context, ...left }, 'further lines were left out');
    if (!isKnown && !this.shares.take(`${level} ${context}`, MOST_TEXTS, sumUpContext)) return false;
    return this.shares.take(name, hasFields ? MOST_WITH_FIELDS : 1, (left) =>
      this.logger[level]({ context, ...left }, text),
    );
  }
}

/** Of `{msg, …}`: the rest, as fields of the line. */
function fieldsOf(message: unknown): object {
  if (message instanceof Error) return { err: message };
  if (!isLine(message)) return {};
  const entries = Object.entries(message).filter(([name]) => name !== 'msg');
  return Object.fromEntries(entries.map(([name, value]) => [name === 'error' ? 'err' : name, value]));
}

function textOf(message: unknown): string {
  if (typeof message === 'string') return message;
  if (message instanceof Error) return message.message;
  return isLine(message) ? message.msg : JSON.stringify(message);
}

function isLine(message: unknown): message is { msg: string } {
  return typeof message === 'object' && message !== null && 'msg' in message && typeof message.msg === 'string';
}
