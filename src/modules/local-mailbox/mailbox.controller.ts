import { join, relative, sep } from 'node:path';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Header,
  Injectable,
  Param,
  Post,
  Query,
  Redirect,
  Res,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AcrossTenants, Public } from '../../common/http/scopes';
import { TakesBody } from '../../common/http/request/request-body';
import { PathId } from '../../common/http/dto/openapi.decorators';
import { parseUrl } from '../../common/network';
import { AppConfig } from '../../config/config';
import { AttachmentIndexPipe, downloadAs } from '../../common/http/responses/downloads';
import { HTML_TYPE, MESSAGE_POLICY, PAGE_POLICY, STYLESHEET } from './page-layout';
import { ListMailboxQuery, toMessageDto } from './dto/mailbox.dto';
import { MailboxService } from './mailbox.service';
import { deletePage, type FirstSteps, listPage, messagePage } from './mailbox-pages';
import { linksOf } from './message-links';
import { MailboxProblemFilter, NoMailboxError } from './mailbox-problems';
import { AppError } from '../../common/errors/app-error';
import { isOnThisMachine } from '../../common/http/request/client-address';
import { inertInTurns } from '../../common/http/responses/large-responses';

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
    throw new NoMailboxError();
  }
}

/** Only the mailbox's own pages, and programs, may delete: browsers send the origin of a form, programs do not. */
@Injectable()
class OwnPagesGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<Request>();
    const site = headers['sec-fetch-site'] ?? 'same-origin';
    const origin = headers.origin === undefined ? undefined : parseUrl(headers.origin)?.host;
    const isOwn = site === 'same-origin' && (headers.origin === undefined || origin === headers.host);
    if (isOwn) return true;
    throw new AppError('insufficient_permissions', 'Another page may not delete mail');
  }
}

const POLICY = 'content-security-policy';
const TYPE = 'content-type';

/** `/mailbox`: mail that local mode has delivered, as pages for people and `messages.json` for tools. */
@ApiExcludeController()
@Controller('mailbox')
@Public()
@AcrossTenants()
@UseGuards(MailboxAccessGuard)
@UseFilters(MailboxProblemFilter)
export class MailboxController {
  private readonly firstSteps: FirstSteps;

  constructor(
    private readonly mailbox: MailboxService,
    { http, dataDir }: AppConfig,
  ) {
    const path = relative(process.cwd(), join(dataDir, 'credentials.json')).split(sep);
    this.firstSteps = { publicUrl: http.publicUrl, credentialsFile: `./${path.join('/')}` };
  }

  @Get()
  @Header(TYPE, HTML_TYPE)
  @Header(POLICY, PAGE_POLICY)
  async list(@Query() { page, q, live }: ListMailboxQuery): Promise<string> {
    return listPage(await this.mailbox.list(page, q.trim()), this.firstSteps, live);
  }

  @Get('delete')
  @Header(TYPE, HTML_TYPE)
  @Header(POLICY, PAGE_POLICY)
  async askToDeleteAll(): Promise<string> {
    return deletePage((await this.mailbox.list(1)).total);
  }

  @Post('delete')
  @TakesBody({ ignored: true })
  @UseGuards(OwnPagesGuard)
  @Redirect('/mailbox', 303)
  async deleteAll(): Promise<void> {
    await this.mailbox.deleteAll();
  }

  @Post(':id/delete')
  @TakesBody({ ignored: true })
  @UseGuards(OwnPagesGuard)
  @Redirect('/mailbox', 303)
  async delete(@PathId('id', 'Message') id: string): Promise<void> {
    await this.mailbox.delete(id);
  }

  @Get('messages.json')
  async newest() {
    return { data: (await this.mailbox.newest()).map(toMessageDto) };
  }

  @Get('style.css')
  @Header(TYPE, 'text/css; charset=utf-8')
  @Header('cache-control', 'max-age=300')
  style(): string {
    return STYLESHEET;
  }

  @Get(':id')
  @Header(TYPE, HTML_TYPE)
  @Header(POLICY, PAGE_POLICY)
  async message(@PathId('id', 'Message') id: string): Promise<string> {
    const opened = await this.mailbox.open(id);
    const html = opened.content.kind === 'parts' ? opened.content.html : undefined;
    return messagePage(opened, html === undefined ? [] : await linksOf(html));
  }

  @Get(':id/html')
  @Header(TYPE, HTML_TYPE)
  @Header(POLICY, MESSAGE_POLICY)
  @Header('x-dns-prefetch-control', 'off')
  async html(@PathId('id', 'Message') id: string): Promise<Buffer> {
    return inertInTurns(await this.mailbox.html(id));
  }

  @Get(':id/raw')
  @Header(TYPE, 'text/plain; charset=utf-8')
  async raw(@PathId('id', 'Message') id: string, @Res({ passthrough: true }) response: Response): Promise<Buffer> {
    const raw = await this.mailbox.raw(id);
    response.setHeader('content-disposition', downloadAs(`${id}.eml`));
    return raw;
  }

  @Get(':id/attachments/:index')
  @Header(TYPE, 'application/octet-stream')
  async attachment(
    @PathId('id', 'Message') id: string,
    @Param('index', AttachmentIndexPipe) index: number,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Buffer> {
    const { filename, bytes } = await this.mailbox.attachment(id, index);
    response.setHeader('content-disposition', downloadAs(filename));
    return bytes;
  }
}
