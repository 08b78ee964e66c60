import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AppError } from '../../common/errors/app-error';
import { AppConfig } from '../../config/config';
import { SESSION_SECONDS } from './console-sessions.service';

/** Browsers accept and send the prefix `__Host-` over https only and for this host alone: no subdomain can set one. */
const SECURE_NAME = '__Host-waybill';
const PLAIN_NAME = 'waybill';
const TOKEN = /^(op_)?[\w-]{43}$/;
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * The console's cookie: scripts cannot read it, and pages of other sites cannot send it (`SameSite=Strict`). A write needs the
 * header `X-Waybill-Console` as well, which another origin of the same site cannot add without a CORS preflight.
 */
@Injectable()
export class ConsoleCookie {
  private readonly isEnabled: boolean;
  private readonly isSecure: boolean;

  constructor({ console: { enabled }, http }: AppConfig) {
    this.isEnabled = enabled;
    this.isSecure = http.publicUrl.startsWith('https:');
  }

  /** The session id of a request that has no key of its own. */
  tokenOf({ headers: { authorization, cookie } }: Request): string | undefined {
    if (authorization !== undefined || cookie === undefined || !this.isEnabled) return undefined;
    return this.read(cookie);
  }

  set(request: Request, response: Response, token: string): void {
    response.setHeader('set-cookie', this.cookie(request, token, SESSION_SECONDS));
  }

  clear(request: Request, response: Response): void {
    response.setHeader('set-cookie', this.cookie(request, '', 0));
  }

  /** @throws AppError insufficient_permissions */
  refuseForeignWrite({ method, headers }: Request): void {
    if (READS.has(method) || headers['x-waybill-console'] === '1') return;
    throw new AppError('insufficient_permissions', "A write with the console's cookie needs its header", {
      suggestion: 'Send the header X-Waybill-Console: 1, or use an API key instead of the cookie',
    });
  }

  private read(header: string): string | undefined {
    const values = new Map(header.split(';').map((pair) => split(pair)));
    const value = values.get(SECURE_NAME) ?? (this.isSecure ? undefined : values.get(PLAIN_NAME));
    return value !== undefined && TOKEN.test(value) ? value : undefined;
  }

  private cookie(request: Request, value: string, maxAge: number): string {
    const isSecure = this.isSecure || request.secure;
    const [name, secure] = isSecure ? [SECURE_NAME, '; Secure'] : [PLAIN_NAME, ''];
    return `${name}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure}`;
  }
}

function split(pair: string): [name: string, value: string] {
  const at = pair.indexOf('=');
  return [pair.slice(0, Math.max(at, 0)).trim(), pair.slice(at + 1).trim()];
}
