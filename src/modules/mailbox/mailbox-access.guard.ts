import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { NotFoundError } from '../../common/errors/app-error';
import { AppConfig } from '../../config/config';

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];
const HOST = /^(\[[0-9a-f:.]+\]|[^\s:@/[\]]+)(?::\d{1,5})?$/i;

/**
 * The pages exist in local mode only, and only under this host's own names: a foreign page whose name suddenly
 * points here (DNS rebinding) could otherwise read the mail, for there is no key to ask for.
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
    const { host } = context.switchToHttp().getRequest<Request>().headers;
    const name = HOST.exec(host ?? '')?.[1]?.toLowerCase();
    if (this.isLocal && name !== undefined && this.hosts.has(name)) return true;
    throw new NotFoundError('Resource');
  }
}
