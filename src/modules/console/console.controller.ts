import { Controller, Get, Param, Req, Res, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../../common/http/scopes';
import { sendFile } from '../../common/http/static-file';
import { ConsoleAccessGuard } from './console-access.guard';
import { type ConsoleFile, ConsoleFiles } from './console-files';

/** The browser app: one page, whatever the address below `/console`, and its scripts and styles. */
@ApiExcludeController()
@Controller('console')
@Public()
@UseGuards(ConsoleAccessGuard)
export class ConsoleController {
  constructor(private readonly files: ConsoleFiles) {}

  @Get()
  async home(@Req() request: Request, @Res() response: Response): Promise<void> {
    send(request, response, await this.files.page());
  }

  @Get('assets/:file')
  async asset(@Param('file') name: string, @Req() request: Request, @Res() response: Response): Promise<void> {
    send(request, response, await this.files.asset(name));
  }

  @Get('{*path}')
  async page(@Req() request: Request, @Res() response: Response): Promise<void> {
    send(request, response, await this.files.page());
  }
}

function send(request: Request, response: Response, { plain, gzipped }: ConsoleFile): void {
  const takesGzip = gzipped !== undefined && request.acceptsEncodings('gzip') !== false;
  sendFile(request, response, takesGzip ? gzipped : plain);
}
