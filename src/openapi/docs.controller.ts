import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
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
  document(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    sendFile(request, reply, this.docs.document());
  }

  @Get('docs')
  page(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    sendFile(request, reply, this.docs.page());
  }

  @Get('docs/:file')
  async asset(@Param('file') file: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    sendFile(request, reply, await this.docs.asset(file));
  }
}
