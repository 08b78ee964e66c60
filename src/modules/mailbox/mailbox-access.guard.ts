import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { AppError, NotFoundError } from '../../common/errors/app-error';
import { isOnThisMachine } from '../../common/http/client-address';
import { parseUrl } from '../../common/network';
import { AppConfig } from '../../config/config';

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];
const HOST = /^(\[[0-9a-f:.]+\]|[^\s:@/[\]]+)(?::\d{1,5})?$/i;

/**
 * The pages need no key, so they exist in local mode only, for clients on this machine (by the peer address of the connection)
 * and under this host's own names: otherwise a foreign page whose name suddenly resolves to this host (DNS rebinding) could
 * read the mail. Requests forwarded by a proxy count as remote.
 */
@Injectable()
export class MailboxAccessGuard implements CanActivate {
  private readonly isLocal: boolean;
  private readonly hosts: ReadonlySet<string>;

  constructor({ delivery, http }: AppConfig) {
    this.isLocal = delivery.mode === 'local';
    this.hosts = new Set([...LOCAL_HOSTS, new URL(http.publicUrl).hostname]);
  }

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>();
    const name = HOST.exec(request.headers.host ?? '')?.[1]?.toLowerCase();
    const isNamed = name !== undefined && this.hosts.has(name);
    if (this.isLocal && isNamed && isOnThisMachine(request)) return true;
    throw new NotFoundError('Resource');
  }
}

/** Only the mailbox's own pages, and programs, may delete: browsers send the origin of a form, programs do not. */
@Injectable()
export class OwnPagesGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<Request>();
    const site = headers['sec-fetch-site'] ?? 'same-origin';
    const origin = headers.origin === undefined ? undefined : parseUrl(headers.origin)?.host;
    const isOwn = site === 'same-origin' && (headers.origin === undefined || origin === headers.host);
    if (isOwn) return true;
    throw new AppError('insufficient_permissions', 'Another page may not delete mail');
  }
}
