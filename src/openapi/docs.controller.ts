import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { Public } from '../common/http/require-scope.decorator';
import { DocsService } from './docs.service';
import { sendFile } from './static-file';

/** The API documentation: `/openapi.json` for programs, `/docs` for people. */
@ApiExcludeController()
@Controller()
@Public()
export class DocsController {
  constructor(private readonly docs: DocsService) {}

  @Get('openapi.json')
  document(@Res() response: Response): void {
    sendFile(response, this.docs.document());
  }

  @Get('docs')
  page(@Res() response: Response): void {
    sendFile(response, this.docs.page());
  }

  @Get('docs/:file')
  async asset(@Param('file') file: string, @Res() response: Response): Promise<void> {
    sendFile(response, await this.docs.asset(file));
  }
}
