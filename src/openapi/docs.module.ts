import { Module } from '@nestjs/common';
import { DocsController } from './docs.controller';
import { DocsService } from './docs.service';

/** Serves the API documentation once `setUpDocs` has been called. */
@Module({ controllers: [DocsController], providers: [DocsService] })
export class DocsModule {}
