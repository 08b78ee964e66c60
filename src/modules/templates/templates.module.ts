import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../../audit/audit.module';
import { TemplateRenderer } from './template-renderer.service';
import { Template, TemplateVersion } from './template.entity';
import { TemplatesController } from './templates.controller';
import { TemplatesRepository } from './templates.repository';
import { TemplatesService } from './templates.service';

/** Templates: their versions and rendering. */
@Module({
  imports: [TypeOrmModule.forFeature([Template, TemplateVersion]), AuditModule],
  controllers: [TemplatesController],
  providers: [TemplateRenderer, TemplatesRepository, TemplatesService],
  exports: [TemplateRenderer, TemplatesService],
})
export class TemplatesModule {}
