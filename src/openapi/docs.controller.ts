import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../common/http/scopes';
import { DocsService } from './docs.service';
import { sendFile } from './static-files';

/** The API documentation: `/openapi.json` for programs, `/docs` for people. */
@ApiExcludeController()
@Controller()
@Public()
export class DocsController {
  constructor(private readonly docs: DocsService) {}

  @Get('openapi.json')
  document(@Req() request: Request, @Res() response: Response): void {
    sendFile(request, response, this.docs.document());
  }

  @Get('docs')
  page(@Req() request: Request, @Res() response: Response): void {
    sendFile(request, response, this.docs.page());
  }

  @Get('docs/:file')
  async asset(@Param('file') file: string, @Req() request: Request, @Res() response: Response): Promise<void> {
    sendFile(request, response, await this.docs.asset(file));
  }
}
