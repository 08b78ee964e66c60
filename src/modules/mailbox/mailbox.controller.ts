import { join, relative, sep } from 'node:path';
import { Controller, Get, Header, Param, Post, Query, Redirect, Res, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { AcrossTenants, Public } from '../../common/http/scopes';
import { TakesBody } from '../../common/http/request-body';
import { PathId } from '../../common/http/openapi.decorators';
import { AppConfig } from '../../config/config';
import { downloadAs, HTML_TYPE, MESSAGE_POLICY, PAGE_POLICY, STYLESHEET } from './page-layout';
import { AttachmentIndexPipe, ListMailboxQuery, toMessageDto } from './dto/mailbox.dto';
import { MailboxAccessGuard, OwnPagesGuard } from './mailbox-access.guard';
import { MailboxService } from './mailbox.service';
import { type FirstSteps, listPage, messagePage } from './mailbox-pages';

const POLICY = 'content-security-policy';
const TYPE = 'content-type';

/** `/mailbox`: mail that local mode has delivered, as pages for people and `messages.json` for tools. */
@ApiExcludeController()
@Controller('mailbox')
@Public()
@AcrossTenants()
@UseGuards(MailboxAccessGuard)
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
  async list(@Query() { page, q }: ListMailboxQuery): Promise<string> {
    return listPage(await this.mailbox.list(page, q.trim()), this.firstSteps);
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
    return messagePage(await this.mailbox.open(id));
  }

  @Get(':id/html')
  @Header(TYPE, HTML_TYPE)
  @Header(POLICY, MESSAGE_POLICY)
  @Header('x-dns-prefetch-control', 'off')
  html(@PathId('id', 'Message') id: string): Promise<string> {
    return this.mailbox.html(id);
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
